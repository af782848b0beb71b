internal import CRunLoopCore
internal import Glibc

// Packets on their way in. What one says is believed when `rlc_frame_parse` has found it sound, and its numbers are found in
// this connection's own tables.
extension Channel {
  /// What a packet makes to be done when `receiving` is not held any more.
  enum Arrival {
    /// No packet, or not now.
    case nothing
    /// In its port's queue.
    case delivered
    /// For a port in the mode that runs, before all that waits: told at once.
    case direct(PortMembership, RunLoop.Message)
    case answer(ReplyRight, RunLoop.Message)
    /// Its number is nobody's.
    case unclaimed(UInt64, RunLoop.Message)
    case dead([UInt64])
    case drop([(number: UInt64, count: UInt32)], isQuiet: Bool)
    case introduction(RunLoop.Message.Descriptor, UInt64)
    /// Stays in the scratch memory until its sender has been judged.
    case toBeJudged(RunLoop.Message.Sender, size: Int)
    case end(RunLoopError?)
    case violation(String)
  }

  /// Takes one packet: true if a port was called. [loop]
  func receive(in mode: ModePointer) -> Bool {
    if !sending.withLock({ leftToSay.isEmpty }) { hasRoomToSay() }
    switch take(in: mode) {
    case .direct(let membership, let message):
      __RUNLOOPKIT_IS_CALLING_OUT_TO_A_PORT__(membership.port, message)
      membership.host.hasCalled(membership.port)
      return true
    case let arrival:
      handle(arrival)
      return false
    }
  }

  /// Without a loop: what is there is put where it belongs. A sender that finds the peer gone wants to know why.
  func lookForEnd() {
    takeAll()
    if !isOver { breakOff(nil) }
  }

  /// If no loop does.
  func lookIfUnserved() {
    guard !isOver, followed.allSatisfy({ $0.places.isEmpty }) else { return }
    takeAll()
  }

  /// What is there, but not what a peer that does not end sends meanwhile.
  private func takeAll() {
    for _ in 0..<Channel.mostAtOnce where !isOver {
      let arrival = take(in: nil)
      if case .nothing = arrival { return }
      handle(arrival)
    }
  }

  /// More packets than a socket of ordinary size holds.
  private static let mostAtOnce = 1024

  private func hasRoomToSay() {
    let isTooMuch = sending.withLock { !sayWhatIsLeft() && leftToSay.count > Channel.mostLeft }
    if isTooMuch { return refuse("does not read what it is told") }
    wantRoom()
    closeIfUnused()
  }

  private func take(in mode: ModePointer?) -> Arrival {
    guard let owned, owned.hold() else { return .nothing }
    defer { owned.release() }
    receiving.lock()
    defer { endReceiving() }
    if stalled != nil { rest(true) }  // it has entered another mode meanwhile, or was let in too early
    guard !isOver, !isBusy, stalled == nil else { return .nothing }
    var size = rlc_message_socket_receive(fileDescriptor, scratch, Int(RLC_FRAME_LARGEST), received)
    if size == -Int64(ECONNRESET) {  // told once; what was sent before comes after it
      size = rlc_message_socket_receive(fileDescriptor, scratch, Int(RLC_FRAME_LARGEST), received)
    }
    guard size > 0 else { return arrival(of: size) }
    if isIntroduced {
      // Who has this end too can have turned it off.
      guard let stranger = senderOfPacket else {
        rlc_received_close(received, 0)
        return .violation("a packet that does not tell its sender")
      }
      if stranger != welcomed {
        isBusy = true
        return .toBeJudged(stranger, size: Int(size))
      }
    }
    return open(Int(size), in: mode)
  }

  /// What was thrown away meanwhile goes when the lock is not held: it may have rights to answer, or the last hold on a port.
  @inline(__always)
  private func endReceiving() {
    guard litter != nil || !newcomers.isEmpty else { return receiving.unlock() }
    let gone = litter.take()
    let newcomers = newcomers
    self.newcomers = []
    receiving.unlock()
    withExtendedLifetime(gone) {}
    guard !newcomers.isEmpty else { return }
    let home = sending.withLock { self.home }
    for channel in newcomers { channel.settle(at: home) }
  }

  private func arrival(of status: Int64) -> Arrival {
    switch Int32(status) {
    case -EAGAIN: .nothing
    case 0, -ECONNRESET: .end(nil)
    case -EMSGSIZE: .violation(String(cString: rlc_frame_fault_text(RLC_FRAME_BAD_SIZE)))
    case -EMFILE: .violation("no descriptors are left for what came with a packet")
    case -EBADF: .nothing
    default: .end(.systemCall(name: "recvmsg", errno: Int32(-status)))
    }
  }

  var senderOfPacket: RunLoop.Message.Sender? {
    guard received.pointee.has_sender else { return peer }
    return RunLoop.Message.Sender(received.pointee.sender)
  }

  // MARK: Effects, with no lock held

  private func handle(_ arrival: Arrival) {
    switch arrival {
    case .nothing, .delivered: break
    case .direct(let membership, let message): _ = membership.port.mailbox.accept(message)
    case .answer(let right, let message):
      right.pending.settle(.success(message))
      hasNoMore(for: right.pending.bell)
      // Else it stays where it was waited for: most likely it is again.
      if importing.withLock({ isWatched }) { follow() }
    case .unclaimed(let number, let message):
      withExtendedLifetime(message) {}
      tell(.dead([number]))
      if sending.withLock({ leftToSay.count > Channel.mostLeft }) { refuse("a flood of messages to nobody") }
    case .dead(let numbers): for number in numbers { peerHasLost(number) }
    case .drop(let rights, let isQuiet): peerHasDropped(rights, isQuiet)
    case .introduction(let end, let number): meet(end, as: number)
    case .toBeJudged(let stranger, let size): judge(stranger, size)
    case .end(let why): end(why)
    case .violation(let why): refuse(why)
    }
  }

  /// Frames without room: more than an honest peer that reads makes.
  private static let mostLeft = 256

  private func judge(_ stranger: RunLoop.Message.Sender, _ size: Int) {
    let isWelcome = terms.policy.welcomes(stranger)
    receiving.lock()
    isBusy = false
    guard isWelcome else {
      rlc_received_close(received, 0)
      endReceiving()
      return refuse("not allowed for user \(stranger.userID)")
    }
    welcomed = stranger
    let arrival = open(size, in: nil)
    endReceiving()
    handle(arrival)
  }

  private func peerHasLost(_ number: UInt64) {
    let (port, answer) = importing.withLock { (imports.end(number), imports.endAnswer(number)) }
    port?.forget()
    port?.invalidation.end()
    answer?.channelHasEnded()
    closeIfUnused()
  }

  private func peerHasDropped(_ rights: [(number: UInt64, count: UInt32)], _ isQuiet: Bool) {
    var gone: [Exports.Target] = []
    sending.withLock {
      for right in rights {
        if let target = exports.drop(right.number, UInt64(right.count)) { gone.append(target) }
      }
    }
    let mailboxes = gone.map(\.mailbox)
    gone = []  // answers that nobody will give: who has asked is told
    for mailbox in mailboxes { hasNoMore(for: mailbox) }
    if isQuiet {
      let idle = importing.withLock { imports.keepNone() }
      withExtendedLifetime(idle) {}
    }
    if !mailboxes.isEmpty { follow() }
    closeIfUnused()
  }

  /// Something of the port's is not exported any more.
  func hasNoMore(for mailbox: Mailbox) {
    // Under the lock: nobody exports it again meanwhile.
    sending.withLock { if home !== mailbox, !exports.serves(mailbox) { mailbox.disconnect(self) } }
  }

  // MARK: Full ports

  /// The port has room, or is gone. On the thread that has made room, with no lock held.
  func wake(from mailbox: Mailbox) {
    receiving.lock()
    defer { endReceiving() }
    guard let held = stalled, held.mailbox === mailbox else { return }
    stalled = nil
    litter = held
    if deliver(held.message, to: mailbox) { rest(false) }
  }

  /// A full port's connection is taken out of its loops' sets: the peer's sends will wait. Under `receiving`.
  func rest(_ rests: Bool) {
    let hosts = withLinks { $0.map(\.host) }
    for host in hosts { host.lock.withLock { host.setMuted(rests, self) } }
  }

  /// False if it must wait for room. Under `receiving`.
  func deliver(_ message: RunLoop.Message, to mailbox: Mailbox) -> Bool {
    while true {
      if let isAccepted = mailbox.accept(message) {
        if isAccepted { return true }
      } else {
        litter = (litter, message)
        return true
      }
      if mailbox.stall(self) {
        stalled = (mailbox, message)
        return false
      }
    }
  }
}

extension RunLoop.Message.Sender {
  init(_ credentials: rlc_credentials) {
    self.init(
      processID: credentials.process_id, userID: credentials.user_id, groupID: credentials.group_id)
  }
}
