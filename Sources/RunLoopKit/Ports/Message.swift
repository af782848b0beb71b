extension RunLoop {
  /// What one thread or process sends to a port: an id, components, and a right to answer.
  ///
  /// Sender and receiver share bytes and rights. A descriptor has one owner, so sending moves it. In Apple's systems:
  /// `NSPortMessage`, `mach_msg_header_t`.
  ///
  /// ```swift
  /// let message = RunLoop.Message(id: 1, [.bytes("question"), .bytes([0, 1])])
  /// print(message.components.count, message.bytes?.count ?? 0)  // prints 2 8
  /// print(message.reply == nil, message.sender == nil)  // prints true true
  /// ```
  public struct Message: Sendable, CustomStringConvertible {
    /// One part of a message.
    public enum Component: Sendable {
      /// Immutable bytes. A send within the process does not copy them. A send to another process does, unless they
      /// lie in a memory file (`Bytes(sharing:initializingWith:)`).
      case bytes(Bytes)
      /// A descriptor, which the receiver owns after the send. A child of fork(2) does not inherit descriptors of
      /// messages that wait for delivery [RLK-MSG-54].
      case descriptor(Descriptor)
      /// The right to send to a port [RLK-MSG-37].
      case right(Port.SendRight)
    }

    /// Any number. Sender and receiver agree on its meaning.
    public var id: UInt32
    /// The components, in the sender's order.
    public var components: [Component]
    /// Where an answer goes; nil if none is expected.
    public var reply: Port.SendRight?
    /// The process that sent this message. The kernel names the sender of each packet, even if another process has
    /// opened the connection. Nil if this process sent the message to one of its own ports directly.
    public package(set) var sender: Sender?

    /// The most descriptors that a message can carry, also within a process: 253 (unix(7): `SCM_MAX_FD`) [RLK-WIRE-4].
    /// Between processes a payload of more than 64 KiB takes one of these places, and so does each right to a third
    /// process's port [RLK-WIRE-28].
    public static let maximumDescriptors = 253

    /// Creates a message to send. The id is any number: sender and receiver agree on its meaning.
    public init(id: UInt32 = 0, _ components: [Component] = [], reply: Port.SendRight? = nil) {
      self.id = id
      self.components = components
      self.reply = reply
    }

    /// Creates a message of one component, with any number as its id.
    public init(id: UInt32 = 0, bytes: Bytes, reply: Port.SendRight? = nil) {
      self.init(id: id, [.bytes(bytes)], reply: reply)
    }

    /// The first component of bytes; nil if there is none.
    public var bytes: Bytes? {
      for case .bytes(let bytes) in components { return bytes }
      return nil
    }

    /// All descriptors, in their order.
    public var descriptors: [Descriptor] {
      components.compactMap { if case .descriptor(let descriptor) = $0 { descriptor } else { nil } }
    }

    /// Call it when the program gets the message, so that children of fork(2) inherit its descriptors.
    package func revealDescriptors() { for case .descriptor(let descriptor) in components { descriptor.appear() } }

    /// All rights but the one to answer, in their order.
    public var rights: [Port.SendRight] {
      components.compactMap { if case .right(let right) = $0 { right } else { nil } }
    }

    /// Id, sizes and sender.
    public var description: String {
      let parts = components.map { component in
        switch component {
        case .bytes(let bytes): "\(bytes.count) bytes"
        case .descriptor(let descriptor): "descriptor \(descriptor.fileDescriptor)"
        case .right: "right"
        }
      }
      let origin = sender.map { ", from \($0)" } ?? ""
      return "<message \(id): \(parts.joined(separator: ", "))\(reply == nil ? "" : ", to be answered")\(origin)>"
    }
  }
}

extension RunLoop.Message {
  /// A process that has sent something, as the kernel identifies it.
  public struct Sender: Sendable, Hashable, CustomStringConvertible {
    /// The number of the process, which may have ended since.
    public let processID: Int32
    /// The sender's user: the real user for a message, the effective user for a connection (`PeerPolicy`).
    public let userID: UInt32
    /// The sender's group: the real or the effective one, as for `userID`.
    public let groupID: UInt32

    package init(processID: Int32, userID: UInt32, groupID: UInt32) {
      self.processID = processID
      self.userID = userID
      self.groupID = groupID
    }

    /// The numbers, in words.
    public var description: String { "process \(processID), user \(userID), group \(groupID)" }
  }
}
