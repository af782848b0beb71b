package import CRunLoopKit
internal import RunLoopKit
internal import RunLoopLibc

// The functions of the first part of <runloopkit/port.h>, messages. Their contracts stand there.

/// The object of a message's handle.
final class HeldMessage: Sendable {
  let message: RunLoop.Message

  init(_ message: RunLoop.Message) { self.message = message }
}

/// The bytes of a message. Their memory comes from malloc(3), which, unlike Swift's allocation, can fail.
private final class CopiedBytes {
  private let memory: UnsafeMutableRawPointer

  init(_ memory: UnsafeMutableRawPointer) { self.memory = memory }

  deinit { free(memory) }

  /// Returns nil if there is no memory.
  static func copy(_ bytes: UnsafeRawBufferPointer) -> RunLoop.Message.Bytes? {
    guard bytes.count > 0 else { return RunLoop.Message.Bytes() }
    guard let memory = malloc(bytes.count) else { return nil }
    let copied = UnsafeMutableRawBufferPointer(start: memory, count: bytes.count)
    copied.copyMemory(from: bytes)
    return RunLoop.Message.Bytes(ByteStorage.make(copied, owner: CopiedBytes(memory)))
  }
}

extension rlk_message_options {
  /// Returns the error in the options; 0 if there is none. Memory for the message may still be missing.
  fileprivate var fault: Int32 {
    guard reserved == 0, bytes != nil || byte_count == 0 else { return Status.invalid }
    // A size_t that is too large for Int is negative here.
    guard byte_count >= 0 else { return -ENOMEM }
    guard descriptors != nil || descriptor_count == 0, rights != nil || right_count == 0, right_count >= 0 else {
      return Status.invalid
    }
    guard (0..<right_count).allSatisfy({ rights[$0] != nil }) else { return Status.invalid }
    guard (0...RunLoop.Message.maximumDescriptors).contains(descriptor_count) else { return -ETOOMANYREFS }
    let numbers = (0..<descriptor_count).map { descriptors[$0] }
    guard Set(numbers).count == numbers.count else { return Status.invalid }
    return numbers.allSatisfy { fcntl($0, F_GETFD) >= 0 } ? 0 : -EBADF
  }

  /// Makes the message from options without a fault. The message takes over the descriptors.
  fileprivate func message(with bytes: RunLoop.Message.Bytes) throws -> RunLoop.Message {
    var components: [RunLoop.Message.Component] = byte_count > 0 ? [.bytes(bytes)] : []
    for index in 0..<descriptor_count { components.append(.descriptor(try .init(owning: descriptors[index]))) }
    for index in 0..<right_count {
      if let right = object(rights[index], as: HeldRight.self) { components.append(.right(right.right)) }
    }
    return RunLoop.Message(id: id, components, reply: object(reply, as: HeldRight.self)?.right)
  }
}

@c @implementation
package func rlk_message_create(
  _ given: UnsafePointer<rlk_message_options>!, _ ret_message: UnsafeMutablePointer<OpaquePointer?>!
) -> Int32 {
  guard let given = options(given), let ret_message else { return Status.invalid }
  let fault = given.fault
  guard fault == 0 else { return fault }
  guard let bytes = CopiedBytes.copy(UnsafeRawBufferPointer(start: given.bytes, count: given.byte_count)) else {
    return -ENOMEM
  }
  return Status.of {
    ret_message.pointee = owned(HeldMessage(try given.message(with: bytes)))
    return 0
  }
}

@c @implementation
package func rlk_message_retain(_ message: OpaquePointer!) -> OpaquePointer! { retain(message, HeldMessage.self) }

@c @implementation
package func rlk_message_release(_ message: OpaquePointer!) { release(message, HeldMessage.self) }

@c @implementation
package func rlk_message_id(_ message: OpaquePointer!) -> UInt32 {
  object(message, as: HeldMessage.self)?.message.id ?? 0
}

extension RandomAccessCollection where Index == Int {
  /// Returns nil if there is no such element. A size_t that is too large for Int is negative here.
  fileprivate func element(_ index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}

@c @implementation
package func rlk_message_bytes(
  _ message: OpaquePointer!, _ index: Int, _ ret_bytes: UnsafeMutablePointer<UnsafeRawPointer?>!,
  _ ret_count: UnsafeMutablePointer<Int>!
) -> Int32 {
  guard let held = object(message, as: HeldMessage.self), let ret_bytes, let ret_count else { return Status.invalid }
  let parts = held.message.components.compactMap { part in
    if case .bytes(let bytes) = part { bytes } else { nil }
  }
  guard let part = parts.element(index) else { return Status.gone }
  // The message holds the memory, which does not move.
  ret_bytes.pointee = part.withUnsafeBytes { $0.baseAddress }
  ret_count.pointee = part.count
  return 0
}

@c @implementation
package func rlk_message_descriptor(_ message: OpaquePointer!, _ index: Int) -> Int32 {
  guard let held = object(message, as: HeldMessage.self) else { return Status.invalid }
  guard let descriptor = held.message.descriptors.element(index) else { return Status.gone }
  let number = descriptor.fileDescriptor
  return number >= 0 ? number : -EBADF
}

@c @implementation
package func rlk_message_take_descriptor(_ message: OpaquePointer!, _ index: Int) -> Int32 {
  guard let held = object(message, as: HeldMessage.self) else { return Status.invalid }
  guard let descriptor = held.message.descriptors.element(index) else { return Status.gone }
  return Status.of { try descriptor.take() }
}

@c @implementation
package func rlk_message_right(
  _ message: OpaquePointer!, _ index: Int, _ ret_right: UnsafeMutablePointer<OpaquePointer?>!
) -> Int32 {
  guard let held = object(message, as: HeldMessage.self), let ret_right else { return Status.invalid }
  guard let right = held.message.rights.element(index) else { return Status.gone }
  ret_right.pointee = owned(HeldRight(right))
  return 0
}

@c @implementation
package func rlk_message_reply(_ message: OpaquePointer!, _ ret_right: UnsafeMutablePointer<OpaquePointer?>!) -> Int32 {
  guard let held = object(message, as: HeldMessage.self), let ret_right else { return Status.invalid }
  guard let right = held.message.reply else { return Status.gone }
  ret_right.pointee = owned(HeldRight(right))
  return 0
}

@c @implementation
package func rlk_message_sender(_ message: OpaquePointer!, _ ret_sender: UnsafeMutablePointer<rlk_sender>!) -> Int32 {
  guard let held = object(message, as: HeldMessage.self), let ret_sender,
    let size = knownSize(UnsafePointer(ret_sender))
  else {
    return Status.invalid
  }
  guard let sender = held.message.sender else { return Status.gone }
  let known = rlk_sender(
    size: size, process_id: sender.processID, user_id: sender.userID, group_id: sender.groupID, reserved: 0)
  // Copies only the members for which the host has room.
  withUnsafeBytes(of: known) {
    UnsafeMutableRawBufferPointer(start: ret_sender, count: size).copyMemory(from: .init(rebasing: $0.prefix(size)))
  }
  return 0
}
