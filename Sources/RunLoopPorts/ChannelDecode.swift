internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

// What is in a packet. All under `receiving`.
extension Channel {
  /// Why a message is not taken.
  enum Objection: Error {
    /// The peer has broken the rules: the end of the connection.
    case breach(String)
    /// Of this message alone.
    case shortage(String)
  }

  /// Message, and how far it has been made.
  private struct Opened {
    var message: RunLoop.Message
    /// Descriptors that the message has, so that the others can be closed.
    var descriptors = 0
    var entries = 0
  }

  func open(_ packet: PacketBuffer, _ size: Int, in mode: ModePointer?) -> Arrival {
    var view = rlc_frame_view()
    let hasLost = packet.received.pointee.has_lost
    // This process had no numbers for them: as many as the sender says, or the frame is not sound.
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
      end.moveIn(packet.descriptor(at: 0))
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
      case .port(let mailbox):
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

  /// Refuses a sound message: gives the rights among its entries back, from one on, and makes the request that it
  /// answers, or is, throw.
  private func refuse(_ view: inout rlc_frame_view, from first: Int, _ why: String) -> Arrival {
    var dropped: [(number: UInt64, count: UInt32)] = []
    for index in first..<max(first, Int(view.header.entries)) {
      let entry = rlc_frame_entry_at(&view, index)
      guard entry.kind == UInt8(RLC_FRAME_RIGHT.rawValue), entry.flags & RightFlag.asSocket == 0 else { continue }
      if entry.flags & RightFlag.yours == 0 {
        dropped.append((entry.value, 1))
      } else {
        releasedLater = (releasedLater, ownRight(entry.value))
      }
    }
    let number = view.header.destination
    let answer = sending.withLock { () -> Exports.Target? in
      if !dropped.isEmpty { say(.drop(dropped, isQuiet: false)) }
      guard case .answer? = exports[number] else { return nil }
      return exports.remove(number)
    }
    releasedLater = (releasedLater, answer)
    refusalsToReport.append((why, .message))
    return .refused(answer?.mailbox)
  }

  /// The port's membership in the mode that runs, if its body may be called at once.
  @inline(__always)
  private func direct(_ mailbox: Mailbox, in mode: ModePointer?) -> PortMembership? {
    guard let mode, mailbox.count == 0, let membership = mailbox.membership(in: mode) else { return nil }
    // As for every callout: recorded first, then found to be a member still.
    membership.host.beginCallout(membership.port)
    if membership.port.isValid, membership.port.isMember(of: mode) { return membership }
    membership.host.beginCallout(self)
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

  private func charge(_ number: Int, _ thing: PeerAccount.Thing) throws(Objection) -> PeerAccount.Charge {
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
      case RLC_FRAME_BYTES: opened.message.components.append(.bytes(payload.take(Int(entry.value))))
      case RLC_FRAME_DESCRIPTOR:
        let taken = RunLoop.Message.Descriptor()
        taken.moveIn(packet.descriptor(at: opened.descriptors))
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
    if let file { return file }
    switch status {
    case -EINVAL: throw .breach("a payload that is in no memory file")
    case -EPERM: throw .breach("a memory file that can still change")
    case -ERANGE: throw .breach("a memory file of another size")
    default: throw .shortage(RunLoopError.system(-status, call: "mmap").description)
    }
  }

  /// The bytes of a message, one component after the other.
  private struct Payload {
    let bytes: UnsafePointer<UInt8>?
    var file: MemoryFile?
    private var offset = 0

    init(bytes: UnsafePointer<UInt8>?, file: MemoryFile?) {
      self.bytes = bytes
      self.file = file
    }

    mutating func take(_ count: Int) -> RunLoop.Message.Bytes {
      guard count > 0 else { return RunLoop.Message.Bytes() }
      defer { offset += count }
      if let file { return RunLoop.Message.Bytes(file.storage(offset, count)) }
      // `fill` gives one of the two: `bytes` is nil only for a message in a file.
      return RunLoop.Message.Bytes(copying: UnsafeRawBufferPointer(start: bytes! + offset, count: count))
    }
  }

  // MARK: Rights

  private func right(
    _ entry: rlc_frame_entry, _ packet: PacketBuffer, _ used: inout Int
  ) throws(Objection) -> RunLoop.Port.SendRight {
    if entry.flags & RightFlag.asSocket != 0 {
      defer { used += 1 }
      return try strangersRight(packet.descriptor(at: used), isOnce: entry.flags & RightFlag.once != 0)
    }
    if entry.flags & RightFlag.yours != 0 { return RunLoop.Port.SendRight(ownRight(entry.value)) }
    let right: any Destination = importing.withLock {
      if entry.flags & RightFlag.once != 0 { return imports.answerArrived(entry.value, on: self) }
      return imports.arrived(entry.value, on: self)
    }
    if let port = right as? RemotePort { importedOneMore(port) }
    return RunLoop.Port.SendRight(right)
  }

  private func importedOneMore(_ port: RemotePort) {
    if isBroken { port.invalidation.end() }
    letGo(importing.withLock { imports.sweep() })
  }

  /// Releases rights that were referenced by the table only, which has removed them.
  private func letGo(_ idle: [RemotePort]) {
    guard !idle.isEmpty else { return }
    for port in idle { port.forget() }
    importing.withLock { giveBackRights() }
    tell(.drop(idle.map { ($0.number, $0.count) }, isQuiet: false))
  }

  /// Rights that a connection may have before they are counted, and in how many they are counted then.
  private static let rightsAtOnce = 64

  private var needsRights: Bool {
    importing.withLock { imports.count > Channel.rightsAtOnce * (rightCharges.count + 1) }
  }

  private func chargeRights() throws(Objection) {
    if let charge = try? account.charge(Channel.rightsAtOnce, .right) {
      return importing.withLock { rightCharges.append(charge) }
    }
    letGo(importing.withLock { imports.sweep(isUrgent: true) })
    guard needsRights else { return }
    let charge = try charge(Channel.rightsAtOnce, .right)
    importing.withLock { rightCharges.append(charge) }
  }

  /// Under `importing`.
  func giveBackRights() {
    guard !rightCharges.isEmpty else { return }
    while !rightCharges.isEmpty, imports.count <= Channel.rightsAtOnce * (rightCharges.count - 1) {
      rightCharges.removeLast()
    }
  }

  /// What is exported under the number; a right to answer is used up.
  private func use(_ number: UInt64) -> Exports.Target? {
    // Once a message: see `receive`.
    sending.lock()
    defer { sending.unlock() }
    guard let target = exports[number] else { return nil }
    if case .answer = target { return exports.remove(number) }
    return target
  }

  /// One of this side's ports comes back; a right to answer with its last use.
  private func ownRight(_ number: UInt64) -> any Destination {
    switch use(number) {
    case .port(let mailbox): return mailbox
    case .answer(let right): return right
    case nil: return DeadDestination()
    }
  }

  /// The descriptor is the new connection's, or closed. One over a limit is dead when it comes.
  private func strangersRight(_ descriptor: Int32, isOnce: Bool) throws(Objection) -> RunLoop.Port.SendRight {
    guard Channel.isFit(descriptor) else {
      close(descriptor)
      throw .breach("a right that is no socket")
    }
    let channel: Channel
    do {
      let seat = try account.charge(1, .introduction)
      channel = try Channel(
        descriptor, terms: terms, isInitiator: true, isIntroduced: true, peer: nil, account: account, seat: seat)
    } catch let excess as PeerAccount.Excess {
      Channel.turnAway(descriptor, excess.reason)
      refusalsToReport.append((excess.reason, .introduction))
      return RunLoop.Port.SendRight(DeadDestination())
    } catch {
      throw .shortage("\(error)")
    }
    newcomers.append(channel)
    return RunLoop.Port.SendRight(
      isOnce
        ? channel.importing.withLock { channel.imports.answerArrived(0, on: channel) }
        : channel.importing.withLock { channel.imports.arrived(0, on: channel) })
  }
}

/// What a right names that was dead when it came.
final class DeadDestination: Destination, @unchecked Sendable {
  func send(_ message: RunLoop.Message, _ patience: Patience) throws(RunLoopError) { throw .portInvalid }

  var isValid: Bool { false }

  func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation {
    let invalidation = Invalidation()
    invalidation.end()
    return invalidation.observe(body)
  }
}
