import RunLoopKit

/// The destination of a right that was already invalid when it arrived.
final class DeadDestination: Destination, @unchecked Sendable {
  func send(_ message: RunLoop.Message, _ timeout: SendTimeout) throws(RunLoopError) { throw .portInvalid }

  var isValid: Bool { false }

  func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation {
    let invalidation = Invalidation()
    invalidation.invalidate()
    return invalidation.observe(body)
  }
}
