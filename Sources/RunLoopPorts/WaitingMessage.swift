import RunLoopKit

/// A message of a task on its way to another process: made when it is its turn, and kept until it has gone, since whom
/// its rights have introduced need not be introduced again.
final class WaitingMessage: @unchecked Sendable {
  let channel: Channel
  private let number: UInt64
  /// Of the port, or the right to answer.
  private let invalidation: Invalidation
  /// In bytes.
  let size: Int
  let whenOver: SendEnd
  /// Guarded by the line's lock.
  var isCalledOff = false
  // That of who drives the line, or has taken it out:
  /// Until the frame is made.
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

  /// Calls it when the port, or the right to answer, that it goes to is over.
  func observeReceiver(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation {
    invalidation.observe(body)
  }

  /// Nil if it has gone; else the connection in which it needs room.
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

  /// The task goes on with all that was in the message; the right to answer goes after it was told why.
  func fail(_ error: any Error) {
    takeBack()
    whenOver(.failure(error))
    release()
  }

  /// It is not sent, and nobody is told.
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
