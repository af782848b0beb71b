internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

/// A message in the form in which a connection sends it. Only the numbers of its rights are filled in under the
/// connection's lock `sending`; the rest is built before, with no lock held.
struct OutgoingMessage: ~Copyable {
  private let channel: Channel
  let parcel: Parcel
  private var header = rlc_frame_header(RLC_FRAME_MESSAGE)
  private var rights: [Right] = []
  /// The memory file of the message's bytes, if all of them are in one.
  private var lent: MemoryFile?
  // Small properties come last. That keeps the size at 128 bytes, which the compiler moves in registers; it moves more
  // by memcpy(3).
  /// A memory file that was made for this message, closed by `close`; -1 if there is none.
  private var file: Int32 = -1
  private(set) var hasNewExports = false
  /// True if the new exports change the modes that read the connection.
  private(set) var changesPlaces = false
  private var isSent = false
  /// True once the connection of each asker had room for an introduction. An asker is a process whose request a right
  /// of this message answers.
  private var haveAskersRoom = false

  /// A right in the message. `rights` has the order of the frame's table.
  private struct Right {
    let destination: any Destination
    let isReply: Bool
    var way = Way.notYet
  }

  private enum Way {
    case notYet
    case exported(UInt64, once: Bool)
    /// A right to the receiver's own port or request.
    case back(UInt64, RemoteReply?)
    /// The receiver's end of an introduction, closed by `close`; -1 before the introduction.
    case socket(Int32, RemoteReply?)
  }

  var hasRights: Bool { !rights.isEmpty }

  /// - Throws: `.messageTooLarge`, `.tooManyDescriptors`; `.system` if there is no room for a memory file.
  init(
    _ parcel: consuming Parcel, to number: UInt64, on channel: Channel, _ timeout: SendTimeout
  ) throws(RunLoopError) {
    self.channel = channel
    let message = parcel.message
    let descriptorCount = parcel.descriptorCount
    self.parcel = parcel
    guard message.components.count <= Int(RLC_FRAME_COMPONENTS) else {
      throw .messageTooLarge(
        "the message has \(message.components.count) components; one takes \(RLC_FRAME_COMPONENTS)")
    }
    var payload = 0
    if let reply = message.reply { rights.append(Right(destination: reply.destination, isReply: true)) }
    for component in message.components {
      switch component {
      case .bytes(let bytes): payload += bytes.count
      case .descriptor: break
      case .right(let right): rights.append(Right(destination: right.destination, isReply: false))
      }
    }
    header.id = message.id
    header.destination = number
    header.payload = UInt64(payload)
    header.entries = UInt16(message.components.count + (message.reply == nil ? 0 : 1))
    let isLarge = payload > Int(RLC_FRAME_INLINE)
    if payload >= OutgoingMessage.leastLent || isLarge { lent = lentFile(message, payload) }
    header.descriptors = UInt16(descriptorCount + (isLarge || lent != nil ? 1 : 0))
    if !rights.isEmpty { try chooseWays() }
    if header.descriptors > RLC_FRAME_DESCRIPTORS, lent != nil, !isLarge {  // sends the bytes in the packet instead
      lent = nil
      header.descriptors -= 1
    }
    guard header.descriptors <= RLC_FRAME_DESCRIPTORS else {
      takeBack()
      throw .tooManyDescriptors
    }
    if isLarge, lent == nil { try makeFile(message, timeout) }
    if file >= 0 || lent != nil { header.flags = UInt16(RLC_FRAME_IN_MEMORY_FILE) }
  }

  /// Mapping a smaller payload costs more than copying it.
  private static let leastLent = 16 * 1024

  /// Returns the memory file if the components are exactly its bytes, in order, as in a message that is forwarded
  /// unchanged.
  private func lentFile(_ message: RunLoop.Message, _ payload: Int) -> MemoryFile? {
    var (whole, end): (MemoryFile?, Int) = (nil, 0)
    for case .bytes(let bytes) in message.components where !bytes.isEmpty {
      guard let (file, offset) = bytes.place, offset == end, whole == nil || whole === file else { return nil }
      whole = file
      end += bytes.count
    }
    return whole?.count == payload ? whole : nil
  }

  private mutating func makeFile(
    _ message: RunLoop.Message, _ timeout: SendTimeout
  ) throws(RunLoopError) {
    do throws(RunLoopError) { try channel.reserveFile(Int(header.payload), timeout) } catch {
      takeBack()
      throw error
    }
    var parts: [iovec] = []
    for case .bytes(let bytes) in message.components where !bytes.isEmpty { parts.append(bytes.part) }
    let status = parts.withUnsafeBufferPointer { rlc_memory_file_make($0.baseAddress, $0.count) }
    withExtendedLifetime(message) {}
    guard status >= 0 else {
      let failure = RunLoopError.system(-status, call: RunLoopError.failedCall)
      channel.settleFile(Int(header.payload), isSent: false)
      takeBack()
      throw failure
    }
    file = status
  }

  // MARK: Rights

  private mutating func chooseWays() throws(RunLoopError) {
    for index in rights.indices {
      let destination = rights[index].destination
      if let answer = destination as? RemoteReply {
        guard answer.use() else {
          takeBack()
          throw .portInvalid
        }
        rights[index].way = answer.channel === channel ? .back(answer.number, answer) : .socket(-1, answer)
      } else if let port = destination as? RemotePort {
        rights[index].way = port.channel === channel ? .back(port.number, nil) : .socket(-1, nil)
      }
      if case .socket = rights[index].way { header.descriptors += 1 }
    }
  }

  /// Introduces the receiver to the third processes to whose ports the message has rights. Continues where an earlier
  /// call has thrown.
  mutating func introduceThirdParties(_ timeout: SendTimeout) throws(RunLoopError) {
    while let index = nextThirdParty, case .socket(_, let answer) = rights[index].way {
      if answer != nil, !haveAskersRoom { try awaitRoomOfAskers(timeout) }
      rights[index].way = .socket(try Introduction.make(to: rights[index].destination, timeout), answer)
      answer?.hasMoved()
    }
  }

  private mutating func awaitRoomOfAskers(_ timeout: SendTimeout) throws(RunLoopError) {
    while let full = fullAsker {
      try full.waitForRoom(timeout)
      if channel.isBroken { throw channel.failure }
    }
    haveAskersRoom = true
  }

  var hasThirdParty: Bool { nextThirdParty != nil }

  /// The connection in which the next introduction needs room; nil if there is no further introduction.
  var thirdParty: Channel? {
    guard let index = nextThirdParty, case .socket(_, let answer) = rights[index].way else { return nil }
    guard let answer else { return (rights[index].destination as? RemotePort)?.channel }
    return fullAsker ?? answer.channel
  }

  /// The index of the next right that needs an introduction. Rights to answer come last, because their introduction
  /// moves them even if the message is not sent.
  private var nextThirdParty: Int? { nextThirdParty(isAsker: false) ?? nextThirdParty(isAsker: true) }

  private func nextThirdParty(isAsker: Bool) -> Int? {
    rights.firstIndex { if case .socket(-1, let answer) = $0.way { (answer != nil) == isAsker } else { false } }
  }

  /// A connection of an asker that has no room; nil if each has room, or only one asker is left. Introducing the other
  /// askers first would move their rights in vain if the introduction of this one then failed.
  private var fullAsker: Channel? {
    let askers: [Channel] = rights.compactMap {
      if case .socket(-1, let answer?) = $0.way { answer.channel } else { nil }
    }
    return askers.count > 1 ? askers.first { $0.isFull } : nil
  }

  /// Under the channel's `sending`.
  mutating func exportRights() {
    for index in rights.indices where isToBeExported(rights[index].way) {
      let destination = rights[index].destination
      if let answer = destination as? ReplyRight {
        rights[index].way = .exported(channel.export(answer), once: true)
        hasNewExports = answer.pending.bell.connect(channel) || hasNewExports
        if !answer.pending.isAwaitedByTask || !channel.isReadForTasks { changesPlaces = true }
      } else if let mailbox = destination.mailbox {
        let (number, isNew) = channel.export(mailbox, destination)
        rights[index].way = .exported(number, once: false)
        if isNew, mailbox.connect(channel) { (hasNewExports, changesPlaces) = (true, true) }
      } else {
        // A right that was invalid when it arrived (`DeadDestination`) has no number here. It is sent as invalid.
        rights[index].way = .back(Exports.nobody, nil)
      }
    }
  }

  /// Also true for a port that ended while the message waited for room: `dispatch` reports that end to the peer after
  /// the message.
  private func isToBeExported(_ way: Way) -> Bool {
    switch way {
    case .notYet: true
    case .exported(let number, _): channel.exports[number] == nil
    case .back, .socket: false
    }
  }

  var deadExports: [Mailbox] {
    rights.compactMap { right in
      guard case .exported = right.way else { return nil }
      // A right to answer has no mailbox of its own. Its request, which has one, may already have given up.
      let mailbox = right.destination.mailbox ?? (right.destination as? ReplyRight)?.pending.bell
      return mailbox?.isOpen == false ? mailbox : nil
    }
  }

  /// Restores all rights, because the message was not sent.
  mutating func takeBack() {
    for index in rights.indices {
      switch rights[index].way {
      case .notYet: break
      case .exported(let number, _):
        let gone = channel.sending.withLock { channel.takeBackExport(number) }
        if let gone { channel.hasNoMore(for: gone.mailbox) }
      case .back(_, let answer): answer?.giveBack()
      case .socket(-1, let answer): answer?.giveBack()
      case .socket(let end, let answer?):
        rights[index].way = .notYet  // `comesBack` owns the end, so `close` must not close it
        answer.comesBack(on: end)
      case .socket: break
      }
    }
  }

  /// Marks the message as sent, and its rights to answer as used.
  mutating func hasGone() {
    isSent = true
    for right in rights {
      switch right.way {
      case .back(_, let answer?), .socket(_, let answer?): answer.wasUsed()
      case .notYet, .exported, .back, .socket: break
      }
    }
  }

  /// Closes the descriptors that were made for the message.
  func close() {
    if file >= 0 {
      channel.settleFile(Int(header.payload), isSent: isSent)
      RunLoopLibc.close(file)
    }
    for right in rights {
      if case .socket(let descriptor, _) = right.way, descriptor >= 0 { Unshared.close(descriptor) }
    }
  }

  // MARK: The packet. Under the channel's `sending`.

  private var table: Int { MemoryLayout<rlc_frame_header>.size + 16 * Int(header.entries) }

  func transmit() -> Int32 {
    withUnsafeTemporaryAllocation(byteCount: table, alignment: 8) { memory in
      memory.storeBytes(of: header, as: rlc_frame_header.self)
      fillTable(memory)
      let most = header.flags != 0 ? 1 : Int(header.entries) + 1
      return withUnsafeTemporaryAllocation(of: iovec.self, capacity: most) { parts in
        parts.initializeElement(at: 0, to: iovec(iov_base: memory.baseAddress, iov_len: memory.count))
        var count = 1
        if header.flags == 0 {
          for case .bytes(let bytes) in parcel.message.components where !bytes.isEmpty {
            parts.initializeElement(at: count, to: bytes.part)
            count += 1
          }
        }
        defer { withExtendedLifetime(parcel) {} }
        return transmit(UnsafeBufferPointer(rebasing: parts[..<count]))
      }
    }
  }

  private func transmit(_ parts: UnsafeBufferPointer<iovec>) -> Int32 {
    // 1,024 components and the header are one part more than a call takes.
    if parts.count > OutgoingMessage.mostParts { return transmitJoined(parts) }
    let socket = channel.descriptor
    if header.descriptors == 0 { return rlc_message_socket_send(socket, parts.baseAddress, parts.count, nil, 0) }
    let descriptors = allDescriptors
    return rlc_message_socket_send(socket, parts.baseAddress, parts.count, descriptors, descriptors.count)
  }

  /// IOV_MAX of sendmsg(2).
  private static let mostParts = 1024

  private func transmitJoined(_ parts: UnsafeBufferPointer<iovec>) -> Int32 {
    var whole: [UInt8] = []
    for part in parts { whole += UnsafeRawBufferPointer(start: part.iov_base, count: part.iov_len) }
    return whole.withUnsafeMutableBytes { whole in
      var part = iovec(iov_base: whole.baseAddress, iov_len: whole.count)
      let descriptors = allDescriptors
      return rlc_message_socket_send(channel.descriptor, &part, 1, descriptors, descriptors.count)
    }
  }

  /// The packet's descriptors: the memory file first, then in the order of the table.
  private var allDescriptors: [Int32] {
    var all: [Int32] = []
    if file >= 0 { all.append(file) } else if let lent { all.append(lent.fileDescriptor) }
    var next = 0
    if let first = rights.first, first.isReply {
      if case .socket(let descriptor, _) = first.way { all.append(descriptor) }
      next = 1
    }
    for component in parcel.message.components {
      switch component {
      case .bytes: break
      case .descriptor(let descriptor): all.append(descriptor.fileDescriptor)
      case .right:
        if case .socket(let descriptor, _) = rights[next].way { all.append(descriptor) }
        next += 1
      }
    }
    return all
  }

  private func fillTable(_ memory: UnsafeMutableRawBufferPointer) {
    var offset = MemoryLayout<rlc_frame_header>.size
    func put(_ entry: rlc_frame_entry) {
      memory.storeBytes(of: entry, toByteOffset: offset, as: rlc_frame_entry.self)
      offset += 16
    }
    var next = 0
    if let first = rights.first, first.isReply {
      put(entry(of: first))
      next = 1
    }
    for component in parcel.message.components {
      switch component {
      case .bytes(let bytes): put(rlc_frame_entry(bytes: bytes.count))
      case .descriptor: put(.descriptor)
      case .right:
        put(entry(of: rights[next]))
        next += 1
      }
    }
  }

  private func entry(of right: Right) -> rlc_frame_entry {
    let reply: UInt8 = right.isReply ? RightFlag.reply : 0
    switch right.way {
    case .notYet: return rlc_frame_entry(right: 0, flags: reply)
    case .exported(let number, let once):
      return rlc_frame_entry(right: number, flags: reply | (once ? RightFlag.once : 0))
    case .back(let number, let answer):
      return rlc_frame_entry(right: number, flags: reply | RightFlag.yours | (answer == nil ? 0 : RightFlag.once))
    case .socket(_, let answer):
      return rlc_frame_entry(right: 0, flags: reply | RightFlag.asSocket | (answer == nil ? 0 : RightFlag.once))
    }
  }
}

extension RunLoop.Message.Bytes {
  /// The bytes as a part of a packet, valid while they live.
  fileprivate var part: iovec {
    // Called only for bytes that are not empty, which have a storage.
    iovec(iov_base: UnsafeMutableRawPointer(mutating: storage!.base + startIndex), iov_len: count)
  }
}
