// This folder calls user code only here: see Items/Callouts.swift.

@inline(never)
package func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_PORT__(_ port: RunLoop.Port, _ message: RunLoop.Message) {
  port.body.call(port, message)
}

/// Always returns true, so that its machine code does not end in a call (Items/Callouts.swift).
@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_AN_INVALIDATION_OBSERVER__(
  _ body: @Sendable () -> Void, _ observation: RunLoop.Port.Observation
) -> Bool {
  body()
  return true
}

// A port's closure, which a callout borrows: see Items/Callouts.swift.

extension RunLoop.Port {
  struct Body: ~Copyable {
    private let function: (RunLoop.Port, RunLoop.Message) -> Void

    @inline(never)  // if inlined into a throwing initialiser, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.Port, RunLoop.Message) -> Void) { self.function = function }

    borrowing func call(_ item: RunLoop.Port, _ message: RunLoop.Message) { function(item, message) }
  }
}
