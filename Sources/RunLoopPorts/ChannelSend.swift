internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

extension Channel {
  /// Sends all of the message, or throws. Waits for room without a lock, at most until `invalidation` reports the
  /// receiver's end.
  func send(
    _ message: RunLoop.Message, to number: UInt64, _ invalidation: Invalidation, _ timeout: SendTimeout
  ) throws(RunLoopError) {
    guard !isForked else { throw .forked }
    guard !isBroken else { throw failure }
    guard socket.hold() else { throw failure }
    defer { socket.release() }
    var frame = try OutgoingMessage(try Parcel(message), to: number, on: self, timeout)
    defer { frame.close() }
    do throws(RunLoopError) {
      try frame.parcel.moveDescriptors()
      try introduceThirdParties(&frame, invalidation, timeout)
      try dispatch(&frame, invalidation, timeout)
    } catch {
      frame.parcel.returnDescriptors()
      frame.takeBack()
      throw error
    }
    frame.hasGone()
  }

  /// Sends without waiting. Returns nil if the message has been sent; otherwise the connection in which it needs room.
  func advance(
    _ frame: inout OutgoingMessage, _ invalidation: Invalidation, _ hasMovedDescriptors: inout Bool
  ) throws(RunLoopError) -> Channel? {
    do throws(RunLoopError) {
      if frame.hasThirdParty, try !hasRoom() { return self }
      if !hasMovedDescriptors { try frame.parcel.moveDescriptors() }
      hasMovedDescriptors = true
      if frame.hasRights { try frame.introduceThirdParties(.none) }
      try dispatch(&frame, invalidation, .none)
      return nil
    } catch {
      guard error == .portFull else { throw error }
      return frame.thirdParty ?? self
    }
  }

  /// Waits until the message itself has room, and then introduces the receiver to third parties, because each
  /// introduction opens a connection in the third process. If another thread takes the room in between, `dispatch`
  /// waits again.
  private func introduceThirdParties(
    _ frame: inout OutgoingMessage, _ invalidation: Invalidation, _ timeout: SendTimeout
  ) throws(RunLoopError) {
    guard frame.hasThirdParty else { return }
    while try !hasRoom() {
      try waitForRoom(timeout)
      if invalidation.isOver { throw failure }
    }
    try frame.introduceThirdParties(timeout)
  }

  /// True if there is no room for an introduction. False for a connection that has ended: the introduction will notice
  /// that.
  var isFull: Bool {
    guard !isForked, !isBroken, socket.hold() else { return false }
    defer { socket.release() }
    return (try? hasRoom()) == false
  }

  /// True if a frame can be sent. Throws if the peer has gone: the kernel reports such a socket as writable.
  private func hasRoom() throws(RunLoopError) -> Bool {
    guard sending.withLock({ sendUnsentFrames() }) else { return false }
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    let count = poll(&entry, 1, 0)
    if count < 0, errno != EINTR { throw .system(errno, call: "poll") }
    guard count > 0 else { return false }
    guard entry.revents & Int16(POLLHUP | POLLERR) == 0 else {
      readToEnd()
      throw failure
    }
    return true
  }

  private func dispatch(
    _ frame: inout OutgoingMessage, _ invalidation: Invalidation, _ timeout: SendTimeout
  ) throws(RunLoopError) {
    while true {
      sending.lock()
      if frame.hasRights { frame.exportRights() }
      let status = unsentFrames.isEmpty || sendUnsentFrames() ? frame.transmit() : -EAGAIN
      sending.unlock()
      if status == 0 {
        if frame.hasNewExports {
          if frame.changesPlaces { followPorts() }
          // A port that ended during the send could not notify this connection.
          for mailbox in frame.deadExports { hasLost(mailbox) }
        }
        return
      }
      guard status == -EAGAIN else { throw error(of: status) }
      try waitForRoom(timeout)
      if invalidation.isOver { throw failure }
    }
  }

  /// Converts a status of sendmsg(2). If the peer has gone, first reads what it has sent before, such as a reason.
  private func error(of status: Int32) -> RunLoopError {
    switch status {
    case -EPIPE, -ECONNRESET, -ENOTCONN, -EBADF:
      readToEnd()
      return failure
    case -EMSGSIZE: return .messageTooLarge("the message makes a packet that is larger than the connection takes")
    default: return .system(-status, call: "sendmsg")
    }
  }

  /// Creates a source, in no mode, that reports when there may be room in the connection. It watches a duplicate of the
  /// socket.
  func roomSource(_ report: @escaping @Sendable () -> Void) throws -> RunLoop.FileDescriptorSource {
    guard socket.hold() else { throw failure }
    defer { socket.release() }
    let duplicate = try RunLoop.Message.Descriptor(duplicating: descriptor)
    duplicate.hide()
    let source = try RunLoop.FileDescriptorSource(
      fileDescriptor: duplicate.fileDescriptor, interest: .writable, trigger: .edge, ownership: .closesWhenInvalidated
    ) { _, _ in report() }
    _ = duplicate.moveOutHidden()
    return source
  }

  /// Waits until a frame can be sent, or the connection has ended.
  func waitForRoom(_ timeout: SendTimeout) throws(RunLoopError) {
    let deadline = try self.deadline(of: timeout)
    guard socket.hold() else { return }
    defer { socket.release() }
    let status =
      Kernel.current?.turns?.waitUntilWritable(descriptor, until: deadline, for: "room in a connection (send)")
      ?? rlc_message_socket_wait_writable(descriptor, deadline)
    if status == 0 { throw .timedOut }
    try RunLoopError.check(status, "ppoll")
  }

  /// Waits until the peer has read something.
  func waitForReader(_ timeout: SendTimeout) throws(RunLoopError) {
    let deadline = try self.deadline(of: timeout)
    let unread = rlc_message_socket_unread(descriptor)
    guard unread > 0 else { return }
    let status = rlc_message_socket_wait_read(descriptor, unread, deadline)
    if status == 0 { throw .timedOut }
    try RunLoopError.checkCore(status)
  }

  private func deadline(of timeout: SendTimeout) throws(RunLoopError) -> UInt64 {
    switch timeout {
    case .none: throw .portFull("the connection has no room for the message; send(_:timeout:) waits for room")
    case .until(let moment): moment.nanoseconds
    case .forever: Time.forever
    }
  }

  // MARK: Frames without a message. Under `sending`, but for `sendControl`, `updateInterest` and `renewInterest`.

  func sendControl(_ frame: Frame) {
    let isLeft = sending.withLock {
      sendOrQueue(frame)
      return !unsentFrames.isEmpty
    }
    if isLeft { updateInterest() }
  }

  /// Sends a frame now, or queues it to be sent before the next one.
  func sendOrQueue(_ frame: Frame) {
    guard !isBroken else { return }
    for piece in frame.pieces where !unsentFrames.isEmpty || transmit(piece) == -EAGAIN {
      if let last = unsentFrames.indices.last, unsentFrames[last].absorb(piece) { continue }
      unsentFrames.append(piece)
    }
  }

  /// Returns -EAGAIN if there is no room.
  func transmit(_ frame: Frame) -> Int32 {
    guard socket.hold() else { return -EBADF }
    defer { socket.release() }
    return frame.withParts { rlc_message_socket_send(descriptor, $0.baseAddress, $0.count, nil, 0) }
  }

  /// Sends unsent frames while there is room. Returns true if none is left.
  func sendUnsentFrames() -> Bool {
    while let first = unsentFrames.first {
      if transmit(first) == -EAGAIN { return false }
      unsentFrames.removeFirst()
    }
    return true
  }

  /// Makes the loops also wait for room while there are unsent frames. Call it with no lock held.
  func updateInterest() {
    let hasChanged = sending.withLock {
      let interest =
        unsentFrames.isEmpty ? PortRegistration.readable : PortRegistration.readable | PortRegistration.writable
      return exchangeInterest(interest) != interest
    }
    guard hasChanged else { return }
    for loop in loops { renewInterest(loop) }
  }

  /// Registers the interest again. If the kernel refuses, the connection could not receive any more, so this function
  /// ends it: both sides notice that. Call it with no lock held.
  func renewInterest(_ loop: RunLoop) {
    do throws(RunLoopError) { try renewInterest(in: loop) } catch { endConnection(error) }
  }
}
