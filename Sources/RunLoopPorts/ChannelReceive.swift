internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

// Receives packets and queues their messages at the ports. A packet is trusted only after `rlc_frame_parse` has
// accepted it and its numbers were found in this connection's tables.

extension Channel: EventService {
  func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
    let hasCalled = receive(in: mode)
    // A port set reports the end once. A connection that was paused or busy has not read it, so the set must report it
    // again.
    if ready & PortRegistration.ended != 0, !isOver { renewInterest(loop) }
    return hasCalled
  }
}

extension Channel {
  /// Reads one packet. Returns true if a port was called. - Thread: The loop's own.
  private func receive(in mode: ModePointer) -> Bool {
    // Not `withLock`, which the compiler (6.3) does not always inline from another module: this runs for each message.
    sending.lock()
    let hasUnsent = !unsentFrames.isEmpty
    sending.unlock()
    if hasUnsent { flushUnsentFrames() }
    switch receivePacket(in: mode) {
    case .direct(let membership, let message):
      if !message.components.isEmpty { message.revealDescriptors() }
      __RUNLOOPKIT_IS_CALLING_OUT_TO_A_PORT__(membership.port, message)
      membership.loop.hasCalled(membership.port)
      return true
    case let arrival:
      handle(arrival)
      return false
    }
  }

  /// Reads what the peer has sent before its end, for a sender that has found the peer gone: the last packet may name
  /// the reason.
  func readToEnd() {
    takeAll()
    if !isOver { breakOff(nil) }
  }

  /// Reads what has arrived, if no loop reads the connection.
  func pollIfUnserved() {
    guard !isOver, servedPorts.allSatisfy({ $0.places.isEmpty }) else { return }
    takeAll()
  }

  /// Reads the packets that have arrived. The limit ends this even if the peer goes on sending.
  private func takeAll() {
    for _ in 0..<Channel.mostAtOnce where !isOver {
      let arrival = receivePacket(in: nil)
      if case .nothing = arrival { return }
      handle(arrival)
    }
  }

  /// More packets than a socket of ordinary size holds.
  private static let mostAtOnce = 1024

  private func receivePacket(in mode: ModePointer?) -> Arrival {
    guard socket.hold() else { return .nothing }
    defer { socket.release() }
    receiving.lock()
    defer { endReceiving() }
    if stalled != nil { rest(true) }  // pauses it in a mode that it has entered meanwhile
    guard !isOver, !isBusy, stalled == nil, mode == nil || !skipsTurn() else { return .nothing }
    let packet = PacketBuffer.ofThread
    var size = packet.receive(descriptor)
    // The kernel reports ECONNRESET once, before the last packets.
    if size == -Int64(ECONNRESET) { size = packet.receive(descriptor) }
    guard size > 0 else { return arrival(of: size) }
    // Another process that has inherited this end may have switched credentials off.
    guard packet.received.pointee.has_sender else {
      packet.closeDescriptors()
      return .violation("a packet that does not tell its sender")
    }
    if !isWelcomed(packet.received.pointee.sender) {
      isBusy = true
      let sender = RunLoop.Message.Sender(packet.received.pointee.sender)
      return .toBeJudged(sender, packet.copy(Int(size)), size: Int(size))
    }
    return open(packet, Int(size), in: mode)
  }

  /// The cost that a packet may have in one turn. Each entry costs 1, each descriptor `costOfDescriptor`.
  private static let budget = 64
  private static let costOfDescriptor = 8

  /// True if the connection has exceeded its budget and must skip this turn, so that others are served. If nothing else
  /// is ready, that causes some empty passes.
  private func skipsTurn() -> Bool {
    guard debt > 0 else { return false }
    debt -= Channel.budget
    return true
  }

  /// Records the cost of a received packet.
  private func pay(entries: Int, descriptors: Int) {
    debt = max(0, entries + descriptors * Channel.costOfDescriptor - Channel.budget)
  }

  /// Releases the lock, and then the references that were dropped under it: the deinit of a port or a right may end the
  /// connection, which takes the lock. Then handles new connections and reports refusals.
  @inline(__always)
  func endReceiving() {
    guard releasedLater != nil || !newcomers.isEmpty || !refusalsToReport.isEmpty else { return receiving.unlock() }
    let gone = releasedLater.take()
    let (newcomers, refusalsToReport, welcomed) = (newcomers, refusalsToReport, welcomed)
    (self.newcomers, self.refusalsToReport) = ([], [])
    receiving.unlock()
    withExtendedLifetime(gone) {}
    if !newcomers.isEmpty {
      let origin = sending.withLock { self.origin }
      for channel in newcomers { channel.settle(at: origin) }
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
    default: failedArrival(.system(Int32(-status), call: "recvmsg"))
    }
  }

  /// Ends the connection for an error that is not the peer's fault. If this side has opened it, later sends throw the
  /// error; otherwise this side reports a refusal.
  private func failedArrival(_ error: RunLoopError) -> Arrival {
    isInitiator ? .end(error) : .violation(error.description)
  }

  private func isWelcomed(_ sender: rlc_credentials) -> Bool {
    guard let welcomed else { return false }
    return welcomed.processID == sender.process_id && welcomed.userID == sender.user_id
      && welcomed.groupID == sender.group_id
  }
}

// MARK: Opening a packet, all under `receiving`

extension Channel {
  /// A message that is being built from a packet.
  private struct Opened {
    var message: RunLoop.Message
    /// How many of the packet's descriptors the message owns already. If it is refused, the others must be closed.
    var descriptors = 0
    var entries = 0
  }

  /// Parses a packet and acts on it.
  func open(_ packet: PacketBuffer, _ size: Int, in mode: ModePointer?) -> Arrival {
    var view = rlc_frame_view()
    let hasLost = packet.received.pointee.has_lost
    // If the kernel has dropped descriptors, because this process has too many, the header's number stands for the real
    // one, so that the parser accepts the frame.
    let count = hasLost ? Channel.claimedDescriptors(packet, size) : packet.received.pointee.count
    let fault = rlc_frame_parse(packet.bytes, size, count, terms.maximumPayload, &view)
    guard fault == RLC_FRAME_SOUND else {
      packet.closeDescriptors()
      return .violation(String(cString: rlc_frame_fault_text(fault)))
    }
    pay(entries: Int(view.header.entries), descriptors: count)
    switch rlc_frame_kind(UInt32(view.header.kind)) {
    case RLC_FRAME_MESSAGE:
      if hasLost { return refuse(&view, from: 0, "no descriptors are left here for what came with a message") }
      return openMessage(&view, packet, in: mode)
    case RLC_FRAME_DEAD: return .dead(entries(&view).map(\.value))
    case RLC_FRAME_DROP:
      let isQuiet = view.header.flags != 0
      return .drop(entries(&view).map { ($0.value, $0.count) }, isQuiet: isQuiet)
    case RLC_FRAME_INTRODUCE:
      if hasLost {
        refusalsToReport.append(("no descriptors are left here for an introduction", .introduction))
        return .delivered
      }
      let end = RunLoop.Message.Descriptor()
      end.moveIn(hidden: packet.descriptor(at: 0))
      return .introduction(end, view.header.destination)
    default:
      let text = UnsafeRawBufferPointer(start: view.bytes, count: Int(view.header.payload))
      return .end(.refused(reason: String(decoding: text, as: UTF8.self)))
    }
  }

  private static func claimedDescriptors(_ packet: PacketBuffer, _ size: Int) -> Int {
    guard size >= MemoryLayout<rlc_frame_header>.size else { return 0 }
    return Int(packet.bytes.load(as: rlc_frame_header.self).descriptors)
  }

  private func entries(_ view: inout rlc_frame_view) -> [rlc_frame_entry] {
    (0..<Int(view.header.entries)).map { rlc_frame_entry_at(&view, $0) }
  }

  private func openMessage(_ view: inout rlc_frame_view, _ packet: PacketBuffer, in mode: ModePointer?) -> Arrival {
    let number = view.header.destination
    var opened = Opened(message: RunLoop.Message(id: view.header.id))
    var charge: PeerAccount.Charge?
    do throws(Objection) {
      try fill(&opened, &view, packet)
      switch use(number) {
      case nil: return .unclaimed(number, opened.message)
      case .answer(let right): return .answer(right, opened.message)
      case .port(let mailbox, _):
        if let membership = direct(mailbox, in: mode) { return .direct(membership, opened.message) }
        if packet.received.pointee.count > 0 { charge = try chargeDescriptors(of: opened.message) }
        return queue(opened.message, charge, at: mailbox, number)
      }
    } catch {
      releasedLater = opened.message
      packet.closeDescriptors(from: opened.descriptors)
      switch error {
      case .breach(let why): return .violation(why)
      case .shortage(let why): return refuse(&view, from: opened.entries, why)
      }
    }
  }

  /// The port's membership in the mode that runs, if the port can be called at once; nil otherwise.
  @inline(__always)
  private func direct(_ mailbox: Mailbox, in mode: ModePointer?) -> PortMembership? {
    guard let mode, mailbox.count == 0, let membership = mailbox.membership(in: mode) else { return nil }
    // As for every callout, the loop records the port first, and then checks whether it is still a member.
    membership.loop.beginCallout(membership.port)
    if membership.port.isValid, membership.port.isMember(of: mode) { return membership }
    membership.loop.beginCallout(self)
    releasedLater = membership
    return nil
  }

  private func queue(
    _ message: RunLoop.Message, _ charge: PeerAccount.Charge?, at mailbox: Mailbox, _ number: UInt64
  ) -> Arrival {
    if !mailbox.isValid { return .unclaimed(number, message) }
    if !deliver(message, charge, to: mailbox) { rest(true) }
    return .delivered
  }

  private func chargeDescriptors(of message: RunLoop.Message) throws(Objection) -> PeerAccount.Charge? {
    let count = message.descriptors.count
    guard count > 0 else { return nil }
    return try charge(count, .descriptor)
  }

  func charge(_ number: Int, _ thing: PeerAccount.Thing) throws(Objection) -> PeerAccount.Charge {
    do throws(PeerAccount.Excess) { return try account.charge(number, thing) } catch { throw .shortage(error.reason) }
  }

  private func fill(
    _ opened: inout Opened, _ view: inout rlc_frame_view, _ packet: PacketBuffer
  ) throws(Objection) {
    var payload = Payload(bytes: view.bytes, file: nil)
    if view.bytes == nil {
      payload.file = try mapped(packet.descriptor(at: 0), Int(view.header.payload))
      opened.descriptors = 1
    }
    opened.message.sender = RunLoop.Message.Sender(packet.received.pointee.sender)
    let count = Int(view.header.entries)
    opened.message.components.reserveCapacity(count)
    for index in 0..<count {
      let entry = rlc_frame_entry_at(&view, index)
      opened.entries = index + 1
      switch rlc_frame_entry_kind(UInt32(entry.kind)) {
      case RLC_FRAME_BYTES: opened.message.components.append(.bytes(payload.removeFirst(Int(entry.value))))
      case RLC_FRAME_DESCRIPTOR:
        let taken = RunLoop.Message.Descriptor()
        taken.moveIn(hidden: packet.descriptor(at: opened.descriptors))
        opened.descriptors += 1
        opened.message.components.append(.descriptor(taken))
      default:
        let right = try right(entry, packet, &opened.descriptors)
        if entry.flags & RightFlag.reply != 0 {
          opened.message.reply = right
        } else {
          opened.message.components.append(.right(right))
        }
        if needsRights { try chargeRights() }
      }
    }
  }

  private func mapped(_ descriptor: Int32, _ count: Int) throws(Objection) -> MemoryFile {
    let (file, status) = MemoryFile.map(descriptor, count: count, try charge(count, .mappedByte))
    if let file {
      Unshared.remove(descriptor)  // children of fork(2) may send the file on, so they keep the descriptor
      return file
    }
    if let call = RunLoopError.failedCall { throw .shortage(RunLoopError.system(-status, call: call).description) }
    switch status {
    case -EINVAL: throw .breach("a payload that is in no memory file")
    case -EPERM: throw .breach("a memory file that can still change")
    default: throw .breach("a memory file of another size")
    }
  }

  /// The payload of a message, from which the components take their bytes in order.
  private struct Payload {
    let bytes: UnsafePointer<UInt8>?
    var file: MemoryFile?
    private var offset = 0

    init(bytes: UnsafePointer<UInt8>?, file: MemoryFile?) {
      self.bytes = bytes
      self.file = file
    }

    mutating func removeFirst(_ count: Int) -> RunLoop.Message.Bytes {
      guard count > 0 else { return RunLoop.Message.Bytes() }
      defer { offset += count }
      if let file { return RunLoop.Message.Bytes(file.storage(offset, count)) }
      // `fill` sets one of the two: `bytes` is nil only for a message in a file.
      return RunLoop.Message.Bytes(copying: UnsafeRawBufferPointer(start: bytes! + offset, count: count))
    }
  }
}
