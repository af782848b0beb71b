internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

/// Passes on a right to a third process's port. The port's owner and the right's receiver get the ends of a new
/// connection, so that their messages do not go through this process.
enum Introduction {
  /// Creates a connection, and sends one end to the owner of `destination`. Returns the receiver's end, which the
  /// caller sends and closes.
  static func make(
    to destination: any Destination, _ timeout: SendTimeout
  ) throws(RunLoopError) -> Int32 {
    var ends: (Int32, Int32) = (-1, -1)
    let (status, refusal) = Unshared.section {
      let status = withUnsafeMutableBytes(of: &ends) {
        // Two `Int32` on the stack.
        rlc_message_socket_pair($0.baseAddress!.assumingMemoryBound(to: Int32.self))
      }
      return (status, status < 0 ? 0 : min(Unshared.add(ends.0), Unshared.add(ends.1)))
    }
    try RunLoopError.checkCore(status)
    if refusal < 0 { Unshared.close(ends.1) }
    // At the end of this function the owner has its copy. If the owner is gone, the receiver finds the other end
    // closed.
    defer { Unshared.close(ends.0) }
    try RunLoopError.checkCore(refusal)
    do throws(RunLoopError) {
      if let port = destination as? RemotePort {
        if port.isValid { try port.channel.introduce(ends.0, to: port.number, timeout) }
      } else if let answer = destination as? RemoteReply {
        try answer.channel.introduce(ends.0, to: answer.number, movesAnswer: true, timeout)
      }
    } catch {
      // The caller sends even an invalid right: the receiver finds the other end closed.
      if error != .portInvalid {
        Unshared.close(ends.1)
        throw error
      }
    }
    return ends.1
  }
}

extension Channel {
  fileprivate func introduce(
    _ end: Int32, to number: UInt64, movesAnswer: Bool = false, _ timeout: SendTimeout
  ) throws(RunLoopError) {
    guard !isForked else { throw .forked }
    guard !isBroken, socket.hold() else { throw .portInvalid }
    defer { socket.release() }
    var header = rlc_frame_header(RLC_FRAME_INTRODUCE)
    header.destination = number
    header.descriptors = 1
    while true {
      let status = sending.withLock {
        guard sendUnsentFrames() else { return -EAGAIN }
        // Once the peer has the introduction, it may end this connection, which must not end a right to answer that has
        // moved. So `importing` is held from sending the introduction to removing the right.
        return movesAnswer ? importing.withLock { transmit(&header, end, moving: number) } : transmit(&header, end)
      }
      if status == 0 { return }
      guard status == -EAGAIN else {
        if status == -EPIPE || status == -ECONNRESET { throw .portInvalid }
        throw .system(-status, call: "sendmsg")
      }
      try waitForRoom(timeout)
    }
  }

  /// Call it under `importing`.
  private func transmit(_ header: inout rlc_frame_header, _ end: Int32, moving number: UInt64) -> Int32 {
    let status = transmit(&header, end)
    if status == 0 { imports.removeAnswer(number) }
    return status
  }

  private func transmit(_ header: inout rlc_frame_header, _ end: Int32) -> Int32 {
    withUnsafeMutableBytes(of: &header) { header in
      var part = iovec(iov_base: header.baseAddress, iov_len: header.count)
      return withUnsafePointer(to: end) { rlc_message_socket_send(descriptor, &part, 1, $0, 1) }
    }
  }

  /// Accepts an introduction: the process at the other end of the socket has a right to the port or answer with this
  /// number.
  func meet(_ end: RunLoop.Message.Descriptor, as number: UInt64) {
    guard let descriptor = end.moveOutHidden() else { return }
    guard Channel.isFit(descriptor) else {
      Unshared.close(descriptor)
      return refuse("an introduction without a socket")
    }
    let target = sending.withLock { () -> Exports.Target? in
      guard let target = exports[number] else { return nil }
      // A right to answer moves to the new connection.
      if case .answer = target { return exports.remove(number) }
      return target
    }
    // If the port has ended, the third process finds the other end closed.
    guard let target else { return Unshared.close(descriptor) }
    let account = receiving.withLock { self.account }
    let slot: PeerAccount.Charge
    do throws(PeerAccount.Excess) { slot = try account.charge(1, .introduction) } catch {
      Channel.turnAway(descriptor, error.reason)
      return terms.refused(RunLoop.Refusal(peer: knownPeer, reason: error.reason), .introduction)
    }
    guard
      let channel = try? Channel(
        descriptor, terms: terms, isInitiator: false, isIntroduced: true, peer: nil, account: account, slot: slot)
    else { return }
    channel.export(first: target)
    // A right to answer takes one message. After that no port would read the new connection, so this connection's
    // origin reads it.
    let origin: Mailbox? = if case .port(let mailbox, _) = target { mailbox } else { sending.withLock { self.origin } }
    channel.settle(at: origin)
    channel.sendControl(.drop([(number: Channel.ownMark, count: UInt32(1))], isQuiet: false))
  }

  /// Keeps the receiver's end of an introduction whose message was not sent. The end becomes a connection of this
  /// process to the same peer, and counts against the peer's limit of connections.
  ///
  /// - Parameter end: Owned by this function, which closes it if it returns nil.
  /// - Returns: Nil if the peer has reached the limit, or if memory is short.
  func adopt(_ end: Int32) -> Channel? {
    guard Channel.isFit(end) else {
      Unshared.close(end)
      return nil
    }
    let (account, peer) = receiving.withLock { (self.account, welcomed) }
    let slot: PeerAccount.Charge
    do throws(PeerAccount.Excess) { slot = try account.charge(1, .connection) } catch {
      Channel.turnAway(end, error.reason)
      return nil
    }
    return try? Channel(
      end, terms: terms, isInitiator: true, isIntroduced: true, peer: peer, account: account, slot: slot)
  }

  /// Makes the loops of the origin of `other` read this connection, or, without an origin, the I/O thread. Call it with
  /// no lock held.
  func serve(as other: Channel) {
    if let origin = other.sending.withLock({ other.origin }) { settle(at: origin) } else { watch() }
  }

  /// A number that no port has. This process sends it as a dropped right on each connection that it gets by an
  /// introduction to one of its ports. If the number arrives on such a connection, a malicious peer has sent both ends
  /// to this process. Without the mark, this process would never notice that connection's end. Any other peer has no
  /// right with that number and ignores the frame.
  static let ownMark = UInt64.random(in: 1 << 63..<Exports.nobody)

  /// True for a socket of the kind that connections use. The call also makes the socket deliver the sender's
  /// credentials with each packet.
  static func isFit(_ descriptor: Int32) -> Bool {
    rlc_message_socket_is_one(descriptor) && rlc_message_socket_pass_credentials(descriptor) >= 0
  }
}
