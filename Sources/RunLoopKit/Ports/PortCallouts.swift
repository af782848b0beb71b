// The only way to user code from this folder: see Items/Callouts.swift.

@inline(never)
package func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_PORT__(_ port: RunLoop.Port, _ message: RunLoop.Message) {
  port.body.call(port, message)
}

/// Always true: it has called.
@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_AN_INVALIDATION_OBSERVER__(
  _ body: @Sendable () -> Void, _ observation: RunLoop.Port.Observation
) -> Bool {
  body()
  return true
}
