internal import Synchronization

/// The ports of a mode, and whether the kernel's events or the messages are next. Guarded by the loop's lock.
///
/// A mark says that a port has messages, and decides whether a wait may sleep. Waking the loop only makes it check the
/// marks, so a pass may drop that wake without losing the message.
struct ModeMessages: ~Copyable {
  /// Created with the first port, so that a mode without ports only pays for one load.
  private let made = Atomic<UnsafeRawPointer?>(nil)
  /// True if a message was served since the kernel's last turn, so that the kernel's events come next.
  /// - Thread: The loop's own.
  private let isKernelsTurn = Atomic<Bool>(false)

  private var ports: UnsafeMutablePointer<MessagePorts>? {
    UnsafeMutableRawPointer(mutating: made.load(ordering: .acquiring))?.assumingMemoryBound(to: MessagePorts.self)
  }

  /// True if a port is marked. Read without the lock; a marked port may be empty.
  var hasReady: Bool {
    guard let ports else { return false }
    return ports.pointee.hasReady
  }

  var members: [RunLoop.Port] { ports?.pointee.members.map(\.port) ?? [] }

  var count: Int { ports?.pointee.members.count ?? 0 }

  /// The number of messages in all ports.
  var waiting: Int { ports?.pointee.members.reduce(0) { $0 + $1.port.mailbox.count } ?? 0 }

  func insert(_ membership: PortMembership) {
    if ports == nil { made.store(UnsafeRawPointer(UnsafeMutablePointer.make(MessagePorts())), ordering: .releasing) }
    // Created above.
    ports!.pointee.insert(membership)
  }

  func remove(_ membership: PortMembership) {
    unmark(membership)
    // A mode with a membership has created `ports`, which live as long as the mode. `mark` and `unmark` rely on this
    // too.
    ports!.pointee.remove(membership)
  }

  /// False if the port was marked already, so that the loop is about to serve it.
  func mark(_ membership: PortMembership) -> Bool { ports!.pointee.markReady(membership) }

  private func unmark(_ membership: PortMembership) { _ = ports!.pointee.unmarkReady(membership) }

  /// Returns the next port with a message, and moves it behind the others. The message stays in the port until the port
  /// is served. Before that the port may leave the mode, or another loop may take the message.
  /// - Thread: The loop's own.
  func takeFirst() -> RunLoop.Port? {
    dropEmpty()
    guard let ports, let first = ports.pointee.first else { return nil }
    ports.pointee.sendToEnd(first)
    isKernelsTurn.store(true, ordering: .relaxed)
    return first.port
  }

  /// True if the kernel's events are next. After the call the messages are next. - Thread: The loop's own.
  func takeKernelsTurn() -> Bool {
    guard isKernelsTurn.load(ordering: .relaxed) else { return false }
    isKernelsTurn.store(false, ordering: .relaxed)
    return true
  }

  /// Removes marks of empty ports from the front of the list, up to the first port with a message.
  func dropEmpty() {
    guard let ports else { return }
    while let first = ports.pointee.first, first.port.mailbox.count == 0 { unmark(first) }
  }

  deinit { ports?.destroy() }
}

extension ModePointer {
  /// - Thread: The loop's own.
  @inline(never)
  func takeReadyPort(on loop: RunLoop) -> PassEvent? {
    loop.lock.lock()
    defer { loop.lock.unlock() }
    return messages.takeFirst().map { .port(.passRetained($0), ready: 0) }
  }

  /// True if a port of the mode has a message. - Thread: The loop's own.
  func hasMessages(on loop: RunLoop) -> Bool {
    guard messages.hasReady else { return false }
    return loop.lock.withLock {
      messages.dropEmpty()
      return messages.hasReady
    }
  }

  /// At most this many passes serve what the mode's ports have now.
  var turns: Int { counts.ports + messages.waiting }
}
