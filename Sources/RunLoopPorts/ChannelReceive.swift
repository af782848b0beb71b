internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

// Receives packets. A packet is trusted after `rlc_frame_parse` has accepted it and its numbers were found in this
// connection's own tables.
extension Channel {
  /// What a packet makes to be done when `receiving` is not held any more.
  enum Arrival {
    /// No packet, or not now.
    case nothing
    /// In its port's queue.
    case delivered
    /// For a port in the mode that runs, ahead of all messages that wait: delivered at once.
    case direct(PortMembership, RunLoop.Message)
    case answer(ReplyRight, RunLoop.Message)
    /// No port has its number.
    case unclaimed(UInt64, RunLoop.Message)
    case dead([UInt64])
    case drop([(number: UInt64, count: UInt32)], isQuiet: Bool)
    case introduction(RunLoop.Message.Descriptor, UInt64)
    /// To be opened when its sender has been judged.
    case toBeJudged(RunLoop.Message.Sender, PacketBuffer, size: Int)
    /// A message that was not taken. It was the answer to a request that waits there, if any does.
    case refused(Mailbox?)
    case end(RunLoopError?)
    case violation(String)
  }

  /// Takes one packet: true if a port was called. [loop]
  func receive(in mode: ModePointer) -> Bool {
    // Once a message: the compiler (6.3) does not inline `withLock` of another module everywhere.
    sending.lock()
    let hasSaidAll = leftToSay.isEmpty
    sending.unlock()
    if !hasSaidAll { hasRoomToSay() }
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
    if isTooMuch { return refuse("does not read what this process sends") }
    wantRoom()
    closeIfUnused()
  }

  private func take(in mode: ModePointer?) -> Arrival {
    guard socket.hold() else { return .nothing }
    defer { socket.release() }
    receiving.lock()
    defer { endReceiving() }
    if stalled != nil { rest(true) }  // it has entered another mode meanwhile, or was let in too early
    guard !isOver, !isBusy, stalled == nil, mode == nil || !sitsOut() else { return .nothing }
    let packet = PacketBuffer.ofThread
    var size = rlc_message_socket_receive(descriptor, packet.bytes, PacketBuffer.capacity, packet.received)
    if size == -Int64(ECONNRESET) {  // reported once; packets that were sent before come after it
      size = rlc_message_socket_receive(descriptor, packet.bytes, PacketBuffer.capacity, packet.received)
    }
    guard size > 0 else { return arrival(of: size) }
    // Who has an introduced end too can have turned it off.
    guard packet.received.pointee.has_sender else {
      packet.closeDescriptors()
      return .violation("a packet that does not tell its sender")
    }
    if !isWelcomed(packet.received.pointee.sender) {
      isBusy = true
      let stranger = RunLoop.Message.Sender(packet.received.pointee.sender)
      return .toBeJudged(stranger, packet.copy(Int(size)), size: Int(size))
    }
    return open(packet, Int(size), in: mode)
  }

  /// What a packet may cost in one turn: entries, and what comes as a descriptor as so many of them.
  private static let budget = 64
  private static let costOfDescriptor = 8

  /// It has had more than its share: others that are ready come first. If there are none it costs some empty passes.
  private func sitsOut() -> Bool {
    guard debt > 0 else { return false }
    debt -= Channel.budget
    return true
  }

  /// Of a packet that has come.
  func pay(entries: Int, descriptors: Int) {
    debt = max(0, entries + descriptors * Channel.costOfDescriptor - Channel.budget)
  }

  /// What was thrown away meanwhile goes when the lock is not held: it may have rights to answer, or the last hold on a
  /// port.
  @inline(__always)
  private func endReceiving() {
    guard releasedLater != nil || !newcomers.isEmpty || !refusalsToReport.isEmpty else { return receiving.unlock() }
    let gone = releasedLater.take()
    let (newcomers, refusalsToReport, welcomed) = (newcomers, refusalsToReport, welcomed)
    (self.newcomers, self.refusalsToReport) = ([], [])
    receiving.unlock()
    withExtendedLifetime(gone) {}
    if !newcomers.isEmpty {
      let home = sending.withLock { self.home }
      for channel in newcomers { channel.settle(at: home) }
    }
    for (reason, what) in refusalsToReport {
      terms.refused(RunLoop.Refusal(peer: welcomed, reason: reason), what)
    }
  }

  private func arrival(of status: Int64) -> Arrival {
    switch Int32(status) {
    case -EAGAIN: .nothing
    case 0, -ECONNRESET: .end(nil)
    case -EMSGSIZE: .violation(String(cString: rlc_frame_fault_text(RLC_FRAME_BAD_SIZE)))
    case -EBADF: .nothing
    default: .end(.system(Int32(-status), call: "recvmsg"))
    }
  }

  @inline(__always)
  private func isWelcomed(_ sender: rlc_credentials) -> Bool {
    guard let welcomed else { return false }
    return welcomed.processID == sender.process_id && welcomed.userID == sender.user_id
      && welcomed.groupID == sender.group_id
  }

  // MARK: Effects, with no lock held

  private func handle(_ arrival: Arrival) {
    switch arrival {
    case .nothing, .delivered: break
    case .direct(let membership, let message): _ = membership.port.mailbox.accept(message)
    case .answer(let right, let message):
      right.pending.settle(.success(message))
      hasNoMore(for: right.pending.bell)
      let (isWatched, isEmpty) = importing.withLock { (self.isWatched, imports.isEmpty) }
      // Else it stays where it was waited for: most likely it is again.
      if isWatched { follow() }
      if isEmpty { closeIfUnused() }
    case .unclaimed(let number, let message):
      withExtendedLifetime(message) {}
      tell(.dead([number]))
      if sending.withLock({ leftToSay.count > Channel.mostLeft }) {
        refuse("a flood of messages to ports that do not exist")
      }
    case .dead(let numbers): for number in numbers { peerHasLost(number) }
    case .drop(let rights, let isQuiet):
      // Its own mark comes back to an accepted end: both ends are in this process.
      if !isInitiator, rights.first?.number == Channel.ownMark { return end(nil) }
      peerHasDropped(rights, isQuiet)
    case .introduction(let end, let number): meet(end, as: number)
    case .toBeJudged(let stranger, let packet, let size): judge(stranger, packet, size)
    case .refused(let bell):
      if let bell {
        hasNoMore(for: bell)
        follow()
        closeIfUnused()
      }
    case .end(let why): end(why)
    case .violation(let why): refuse(why)
    }
  }

  /// Frames without room: more than an honest peer that reads makes.
  private static let mostLeft = 256

  private func judge(_ stranger: RunLoop.Message.Sender, _ packet: PacketBuffer, _ size: Int) {
    let objection =
      terms.policy.welcomes(stranger) ? takeSeat(of: stranger) : "not allowed for user \(stranger.userID)"
    receiving.lock()
    isBusy = false
    if let objection {
      packet.closeDescriptors()
      endReceiving()
      return refuse(objection, sentBy: stranger)
    }
    welcomed = stranger
    let arrival = open(packet, size, in: nil)
    endReceiving()
    handle(arrival)
  }

  /// The connection is the stranger's from now on, no longer an introduction of who has made it. Why not, if it has too
  /// many. A connection that only was inherited since stays the first one's.
  private func takeSeat(of stranger: RunLoop.Message.Sender) -> String? {
    guard knownPeer == nil else { return nil }
    let own = terms.accounts.account(of: stranger)
    do throws(PeerAccount.Excess) {
      let seat = try own.charge(1, .connection)
      receiving.withLock { if !isOver { (account, self.seat) = (own, seat) } }
      return nil
    } catch {
      return error.reason
    }
  }

  private func peerHasLost(_ number: UInt64) {
    let (port, answer, isLast) = importing.withLock {
      let (port, answer) = (imports.end(number), imports.endAnswer(number))
      return (port, answer, isInitiator && (port != nil || answer != nil) && imports.isEmpty)
    }
    if isLast { tell(.drop([], isQuiet: true)) }
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
    gone = []  // answers that will never come: the requests throw
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
    // Under the lock, so that no other thread exports it again meanwhile.
    sending.withLock { if home !== mailbox, !exports.serves(mailbox) { mailbox.disconnect(self) } }
  }

  // MARK: Full ports

  /// The port has room, or is gone. On the thread that has made room, with no lock held.
  func wake(from mailbox: Mailbox) {
    receiving.lock()
    defer { endReceiving() }
    guard let held = stalled, held.mailbox === mailbox else { return }
    stalled = nil
    releasedLater = held
    if deliver(held.message, held.charge, to: mailbox) { rest(false) }
  }

  /// A full port's connection is taken out of its loops' sets: the peer's sends will wait. Under `receiving`.
  func rest(_ rests: Bool) {
    for host in hosts { rest(rests, in: host) }
  }

  /// False if it must wait for room. Under `receiving`.
  func deliver(_ message: RunLoop.Message, _ charge: PeerAccount.Charge?, to mailbox: Mailbox) -> Bool {
    while true {
      if let isAccepted = mailbox.accept(message, charge) {
        if isAccepted { return true }
      } else {
        releasedLater = (releasedLater, message)
        return true
      }
      if mailbox.stall(self) {
        stalled = (mailbox, message, charge)
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
