internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

// Messages and frames on their way out.
extension Channel {
  /// All of the message, or nothing. Waits for room without a lock, until what it is sent to is over.
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

  /// As far as there is room: nil if the message has gone, else the connection in which it needs room.
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

  /// Introduces the receiver once the message itself has room, since each introduction opens a connection in the third
  /// process. Another thread may take the room in between; that is rare.
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

  /// There is no room for an introduction. A connection that has ended is not full: the introduction finds its end.
  var isFull: Bool {
    guard !isForked, !isBroken, socket.hold() else { return false }
    defer { socket.release() }
    return (try? hasRoom()) == false
  }

  /// Throws if the peer has gone, which the kernel calls writable.
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
          // A port ended while the message was on its way, and could not notify this connection.
          for mailbox in frame.deadExports { hasLost(mailbox) }
        }
        return
      }
      guard status == -EAGAIN else { throw error(of: status) }
      try waitForRoom(timeout)
      if invalidation.isOver { throw failure }
    }
  }

  /// A status of sendmsg(2) as an error. What the peer had to say before it went is read.
  private func error(of status: Int32) -> RunLoopError {
    switch status {
    case -EPIPE, -ECONNRESET, -ENOTCONN, -EBADF:
      readToEnd()
      return failure
    case -EMSGSIZE: return .messageTooLarge("the message makes a packet that is larger than the connection takes")
    default: return .system(-status, call: "sendmsg")
    }
  }

  /// Reports each change of the room in the connection, by a number of its own for the socket. In no loop yet.
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

  /// Returns at once if the connection has ended.
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

  /// Until the peer has taken something.
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

  // MARK: Frames without a message. Under `sending`, but for `sendControl` and `updateInterest`.

  func sendControl(_ frame: Frame) {
    let isLeft = sending.withLock {
      sendOrQueue(frame)
      return !unsentFrames.isEmpty
    }
    if isLeft { updateInterest() }
  }

  /// Sends it now, or queues it to go before the next frame.
  func sendOrQueue(_ frame: Frame) {
    guard !isBroken else { return }
    for piece in frame.pieces where !unsentFrames.isEmpty || transmit(piece) == -EAGAIN {
      if let last = unsentFrames.indices.last, unsentFrames[last].absorb(piece) { continue }
      unsentFrames.append(piece)
    }
  }

  /// -EAGAIN if there is no room.
  func transmit(_ frame: Frame) -> Int32 {
    guard socket.hold() else { return -EBADF }
    defer { socket.release() }
    return frame.withParts { rlc_message_socket_send(descriptor, $0.baseAddress, $0.count, nil, 0) }
  }

  /// True if nothing is left.
  func sendUnsentFrames() -> Bool {
    while let first = unsentFrames.first {
      if transmit(first) == -EAGAIN { return false }
      unsentFrames.removeFirst()
    }
    return true
  }

  /// As long as something is left to say, its loops wait for room too. With no lock held.
  func updateInterest() {
    let hasChanged = sending.withLock {
      let interest =
        unsentFrames.isEmpty ? PortRegistration.readable : PortRegistration.readable | PortRegistration.writable
      return exchangeInterest(interest) != interest
    }
    guard hasChanged else { return }
    for host in hosts { renewInterest(host) }
  }

  /// If the kernel refuses, the connection would receive nothing any more: it ends, which both sides see. Call it with
  /// no lock held.
  func renewInterest(_ host: RunLoop) {
    do throws(RunLoopError) { try renewInterest(in: host) } catch { endConnection(error) }
  }
}
