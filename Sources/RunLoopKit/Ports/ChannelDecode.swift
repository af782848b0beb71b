internal import CRunLoopCore
internal import Glibc

// What is in a packet. All under `receiving`.
extension Channel {
  /// The packet in the scratch memory.
  func open(_ size: Int, in mode: ModePointer?) -> Arrival {
    var view = rlc_frame_view()
    let fault = rlc_frame_parse(scratch, size, received.pointee.count, terms.maximumPayload, &view)
    guard fault == RLC_FRAME_SOUND else {
      rlc_received_close(received, 0)
      return .violation(String(cString: rlc_frame_fault_text(fault)))
    }
    switch rlc_frame_kind(UInt32(view.header.kind)) {
    case RLC_FRAME_MESSAGE: return openMessage(&view, in: mode)
    case RLC_FRAME_DEAD: return .dead(entries(&view).map(\.value))
    case RLC_FRAME_DROP:
      let isQuiet = view.header.flags != 0
      return .drop(entries(&view).map { ($0.value, $0.count) }, isQuiet: isQuiet)
    case RLC_FRAME_INTRODUCE:
      let end = RunLoop.Message.Descriptor()
      end.moveIn(descriptor(at: 0))
      return .introduction(end, view.header.destination)
    default:
      let text = UnsafeRawBufferPointer(start: view.bytes, count: Int(view.header.payload))
      return .end(.refused(reason: String(decoding: text, as: UTF8.self)))
    }
  }

  private func entries(_ view: inout rlc_frame_view) -> [rlc_frame_entry] {
    (0..<Int(view.header.entries)).map { rlc_frame_entry_at(&view, $0) }
  }

  private func descriptor(at index: Int) -> Int32 {
    withUnsafeBytes(of: &received.pointee.descriptors) {
      $0.load(fromByteOffset: 4 * index, as: Int32.self)
    }
  }

  private func openMessage(_ view: inout rlc_frame_view, in mode: ModePointer?) -> Arrival {
    var used = 0
    let number = view.header.destination
    var message = RunLoop.Message(id: view.header.id)
    do throws(RunLoopError) {
      try fill(&message, &view, &used)
      let target = sending.withLock { () -> Exports.Target? in
        guard let target = exports[number] else { return nil }
        if case .answer = target { return exports.remove(number) }
        return target
      }
      switch target {
      case nil: return .unclaimed(number, message)
      case .answer(let right): return .answer(right, message)
      case .port(let mailbox): return arrive(message, at: mailbox, number, in: mode)
      }
    } catch {
      litter = message
      rlc_received_close(received, used)
      if case .refused(let reason) = error { return .violation(reason) }
      return .violation(error.description)
    }
  }

  @inline(__always)
  private func arrive(
    _ message: RunLoop.Message, at mailbox: Mailbox, _ number: UInt64, in mode: ModePointer?
  ) -> Arrival {
    if let mode, mailbox.count == 0, let membership = mailbox.membership(in: mode) {
      // As for every callout: recorded first, then found to be a member still.
      membership.host.beginCallout(membership.port)
      if membership.port.isValid, membership.port.isMember(of: mode) { return .direct(membership, message) }
      membership.host.beginCallout(self)
      litter = membership
    }
    if !mailbox.isValid { return .unclaimed(number, message) }
    if !deliver(message, to: mailbox) { rest(true) }
    return .delivered
  }

  /// Which of the descriptors the message has is counted, so that the others can be closed.
  private func fill(
    _ message: inout RunLoop.Message, _ view: inout rlc_frame_view, _ used: inout Int
  ) throws(RunLoopError) {
    var payload = Payload(bytes: view.bytes, file: nil)
    if view.bytes == nil {
      payload.file = try mapped(descriptor(at: 0), Int(view.header.payload))
      used = 1
      close(descriptor(at: 0))
    }
    message.sender = senderOfPacket
    let count = Int(view.header.entries)
    message.components.reserveCapacity(count)
    for index in 0..<count {
      let entry = rlc_frame_entry_at(&view, index)
      switch rlc_frame_entry_kind(UInt32(entry.kind)) {
      case RLC_FRAME_BYTES: message.components.append(.bytes(payload.take(Int(entry.value))))
      case RLC_FRAME_DESCRIPTOR:
        let taken = RunLoop.Message.Descriptor()
        taken.moveIn(descriptor(at: used))
        used += 1
        message.components.append(.descriptor(taken))
      default:
        let right = try right(entry, &used)
        if entry.flags & RightFlag.reply != 0 {
          message.reply = right
        } else {
          message.components.append(.right(right))
        }
      }
    }
  }

  private func mapped(_ descriptor: Int32, _ count: Int) throws(RunLoopError) -> MemoryFile {
    let (file, status) = MemoryFile.map(descriptor, count: count)
    if let file { return file }
    switch status {
    case -EINVAL: throw .refused(reason: "a payload that is in no memory file")
    case -EPERM: throw .refused(reason: "a memory file that can still change")
    case -ERANGE: throw .refused(reason: "a memory file of another size")
    default: throw .systemCall(name: "mmap", errno: -status)
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
      return RunLoop.Message.Bytes(copying: UnsafeRawBufferPointer(start: bytes! + offset, count: count))
    }
  }

  // MARK: Rights

  private func right(
    _ entry: rlc_frame_entry, _ used: inout Int
  ) throws(RunLoopError) -> RunLoop.Port.SendRight {
    if entry.flags & RightFlag.asSocket != 0 {
      defer { used += 1 }
      return try strangersRight(descriptor(at: used), isOnce: entry.flags & RightFlag.once != 0)
    }
    if entry.flags & RightFlag.yours != 0 { return RunLoop.Port.SendRight(ownRight(entry.value)) }
    let right: Destination = importing.withLock {
      if entry.flags & RightFlag.once != 0 { return imports.answerArrived(entry.value, on: self) }
      return imports.arrived(entry.value, on: self)
    }
    if let port = right as? RemotePort { importedOneMore(port) }
    return RunLoop.Port.SendRight(right)
  }

  private func importedOneMore(_ port: RemotePort) {
    if isBroken { port.invalidation.end() }
    let idle = importing.withLock { imports.sweep() }
    guard !idle.isEmpty else { return }
    for port in idle { port.forget() }
    tell(.drop(idle.map { ($0.number, $0.count) }, isQuiet: false))
  }

  /// One of this side's ports comes back; a right to answer with its last use.
  private func ownRight(_ number: UInt64) -> Destination {
    let target = sending.withLock { () -> Exports.Target? in
      guard let target = exports[number] else { return nil }
      if case .answer = target { return exports.remove(number) }
      return target
    }
    switch target {
    case .port(let mailbox): return mailbox
    case .answer(let right): return right
    case nil: return DeadDestination()
    }
  }

  /// The descriptor is the new connection's, or closed.
  private func strangersRight(_ descriptor: Int32, isOnce: Bool) throws(RunLoopError) -> RunLoop.Port.SendRight {
    guard Channel.isFit(descriptor) else {
      close(descriptor)
      throw .refused(reason: "a right that is no socket")
    }
    guard terms.introductionBegins() else {
      close(descriptor)
      throw .refused(reason: Channel.tooManyIntroductions)
    }
    let channel = try Channel(descriptor, terms: terms, isInitiator: true, isIntroduced: true, peer: nil)
    newcomers.append(channel)
    return RunLoop.Port.SendRight(
      isOnce
        ? channel.importing.withLock { channel.imports.answerArrived(0, on: channel) }
        : channel.importing.withLock { channel.imports.arrived(0, on: channel) })
  }
}

/// What a right names that was dead when it came.
final class DeadDestination: Destination, @unchecked Sendable {
  override func send(_ message: RunLoop.Message, _ patience: Patience) throws(RunLoopError) { throw .portInvalid }

  override var isValid: Bool { false }

  override func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation {
    let invalidation = Invalidation()
    invalidation.end()
    return invalidation.observe(body)
  }
}
