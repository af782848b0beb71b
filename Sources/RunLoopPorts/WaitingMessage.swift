import RunLoopKit

/// A message of a task that waits to be sent to another process. Its frame is built at the first attempt and kept for
/// the next ones, so that introductions are made only once.
final class WaitingMessage: @unchecked Sendable {
  let channel: Channel
  private let number: UInt64
  /// The invalidation of the receiver: a port or a right to answer.
  private let invalidation: Invalidation
  /// The size of the message's payload, in bytes.
  let size: Int
  let whenOver: SendEnd
  /// Guarded by the line's lock.
  var isCalledOff = false
  // Used only by the thread that drives the line, or that has taken the message out of the line:
  /// Nil once the frame was built.
  private var message: RunLoop.Message?
  private var frame: OutgoingMessage?
  private var hasMovedDescriptors = false

  init(
    _ message: RunLoop.Message, to number: UInt64, _ invalidation: Invalidation, on channel: Channel,
    _ whenOver: @escaping SendEnd
  ) {
    self.message = message
    self.invalidation = invalidation
    size = message.components.reduce(0) { if case .bytes(let bytes) = $1 { $0 + bytes.count } else { $0 } }
    self.number = number
    self.channel = channel
    self.whenOver = whenOver
  }

  func observeReceiver(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation {
    invalidation.observe(body)
  }

  /// Tries to send the message. Returns nil if it was sent; otherwise the connection in which it needs room.
  func attempt() throws(RunLoopError) -> Channel? {
    guard !channel.isForked else { throw .forked }
    guard !channel.isBroken, !invalidation.isOver, channel.socket.hold() else { throw channel.failure }
    defer { channel.socket.release() }
    if let message {
      do throws(RunLoopError) {
        self.frame = try OutgoingMessage(try Parcel(message), to: number, on: channel, .none)
      } catch {
        guard error == .portFull else { throw error }
        return channel
      }
      self.message = nil
    }
    guard var frame = self.frame.take() else { throw .portInvalid }
    let full: Channel?
    do throws(RunLoopError) {
      full = try channel.advance(&frame, invalidation, &hasMovedDescriptors)
    } catch {
      self.frame = consume frame
      throw error
    }
    if let full {
      self.frame = consume frame
      return full
    }
    frame.hasGone()
    frame.close()
    return nil
  }

  /// Gives the descriptors and rights back to the program, reports the error, and then releases the message. In the
  /// other order, releasing a right to answer in the message would make its request throw `.noReply`, not the error.
  func fail(_ error: any Error) {
    takeBack()
    whenOver(.failure(error))
    release()
  }

  /// Gives the descriptors and rights back without a report.
  func giveUp() {
    takeBack()
    release()
  }

  private func takeBack() {
    guard var frame = self.frame.take() else { return }
    frame.parcel.returnDescriptors()
    frame.takeBack()
    frame.close()
    self.frame = consume frame
  }

  private func release() {
    message = nil
    frame = nil
  }
}
