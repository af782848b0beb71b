/// The right to answer one request. The first send that succeeds uses it up. If the right is released unused, the
/// request throws `.noReply`.
package final class ReplyRight: Destination, @unchecked Sendable {
  package let pending: PendingReply

  package init(_ pending: PendingReply) { self.pending = pending }

  package func send(_ message: RunLoop.Message, _ timeout: SendTimeout) throws(RunLoopError) {
    try pending.settle(try Parcel(message))
  }

  package var isValid: Bool { pending.isValid }

  package func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation { pending.observe(body) }

  package var words: String { "an answer" }

  deinit { pending.settle(.failure(RunLoopError.noReply)) }
}
