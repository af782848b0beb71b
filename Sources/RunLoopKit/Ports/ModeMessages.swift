internal import Synchronization

/// The ports of a mode, and whose turn it is. Guarded by the loop's lock.
///
/// That a port has messages is marked here: the mark is the truth that a wait respects; the kick of the wakeup word
/// only makes the loop look. So a kick that a pass drops loses nothing, and is never passed on to an enclosing run.
struct ModeMessages: ~Copyable {
  /// Made with the first port, so that a mode without them pays a load for it.
  private let made = Atomic<UnsafeRawPointer?>(nil)
  /// A message of one of them was served last: what the kernel has found comes next. [loop]
  private let isKernelsTurn = Atomic<Bool>(false)

  @inline(__always)
  private var ports: UnsafeMutablePointer<MessagePorts>? {
    UnsafeMutableRawPointer(mutating: made.load(ordering: .acquiring))?.assumingMemoryBound(to: MessagePorts.self)
  }

  /// Read without the lock; with marks whose messages are gone.
  @inline(__always)
  var hasReady: Bool {
    guard let ports else { return false }
    return ports.pointee.hasReady
  }

  var members: [RunLoop.Port] { ports?.pointee.members.map(\.port) ?? [] }

  var count: Int { ports?.pointee.members.count ?? 0 }

  /// Of all of them together.
  var waiting: Int { ports?.pointee.members.reduce(0) { $0 + $1.port.mailbox.count } ?? 0 }

  func insert(_ membership: PortMembership) {
    if ports == nil { made.store(UnsafeRawPointer(UnsafeMutablePointer.make(MessagePorts())), ordering: .releasing) }
    // Made above.
    ports!.pointee.insert(membership)
  }

  func remove(_ membership: PortMembership) {
    unmark(membership)
    // A membership is of a mode that has them; they last as long as the mode. So in `mark` and `unmark`.
    ports!.pointee.remove(membership)
  }

  /// False if it was marked before: the loop is about to look.
  func mark(_ membership: PortMembership) -> Bool { ports!.pointee.markReady(membership) }

  private func unmark(_ membership: PortMembership) { _ = ports!.pointee.unmarkReady(membership) }

  /// The next port with a message, which goes behind the others. The message stays where it is until it is served: the
  /// port may have left by then, or another loop have taken it. [loop]
  func takeFirst() -> RunLoop.Port? {
    dropEmpty()
    guard let ports, let first = ports.pointee.first else { return nil }
    ports.pointee.sendToEnd(first)
    isKernelsTurn.store(true, ordering: .relaxed)
    return first.port
  }

  /// True if the turn was the kernel's, and is not any more. [loop]
  func takeKernelsTurn() -> Bool {
    guard isKernelsTurn.load(ordering: .relaxed) else { return false }
    isKernelsTurn.store(false, ordering: .relaxed)
    return true
  }

  /// The marks of ports whose messages were served, or taken by another loop, as far as they come first.
  func dropEmpty() {
    guard let ports else { return }
    while let first = ports.pointee.first, first.port.mailbox.count == 0 { unmark(first) }
  }

  deinit { ports?.destroy() }
}

extension ModePointer {
  /// [loop]
  @inline(never)
  func takeReadyPort(on loop: RunLoop) -> PassEvent? {
    loop.lock.lock()
    defer { loop.lock.unlock() }
    return messages.takeFirst().map { .port(.passRetained($0), ready: 0) }
  }

  /// True if a port of the mode has a message. [loop]
  func hasMessages(on loop: RunLoop) -> Bool {
    guard messages.hasReady else { return false }
    return loop.lock.withLock {
      messages.dropEmpty()
      return messages.hasReady
    }
  }

  /// How many passes serve all that its ports have now.
  var turns: Int { counts.ports + messages.waiting }
}
