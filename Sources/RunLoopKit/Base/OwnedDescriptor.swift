internal import RunLoopLibc

/// A descriptor that is closed once: when its item is invalid or destroyed, is a member of no mode, and none of the
/// item's callouts runs. It stays open while it is registered in an epoll set. Otherwise a source could receive events
/// of the number's next file.
package final class OwnedDescriptor: Sendable {
  package let fileDescriptor: Int32
  /// The item has one hold, and so has each membership and each callout that runs.
  private let holds = HoldCount()
  private let forkGeneration = Kernel.forkGeneration

  /// Closes the descriptor, and whatever else the item has to close. If this is nil, `close` calls `Unshared.close`
  /// instead.
  private let closing: (@Sendable () -> Void)?

  package init(_ fileDescriptor: Int32, closing: (@Sendable () -> Void)? = nil) {
    self.fileDescriptor = fileDescriptor
    self.closing = closing
  }

  /// Begins a hold. Returns false if the descriptor is closed, or about to be.
  package func hold() -> Bool { holds.hold() }

  /// Whether the descriptor is a pipe or a socket: once readable, these stay readable until they are read. Others may
  /// stop being readable without a read: a timerfd may be set again, the signal of a signalfd may be taken elsewhere,
  /// and the members of an epoll instance may be read. Makes one system call.
  var isStream: Bool {
    var info = stat()
    guard fstat(fileDescriptor, &info) == 0 else { return false }
    return info.st_mode & S_IFMT == S_IFIFO || info.st_mode & S_IFMT == S_IFSOCK
  }

  /// True if the item is a member of exactly one mode in all loops together, and none of its callouts runs. Also true
  /// if it is a member of no mode, and one callout runs.
  var isHeldByOneMode: Bool { holds.count == 2 }

  /// Ends a hold for which `hold` has returned true.
  @inline(__always)
  package func release() {
    if holds.release() { close() }
  }

  /// Called when the item is invalid or destroyed. Ends the item's hold.
  func giveUp() {
    if holds.giveUp() { close() }
  }

  /// Called once. Does nothing in a child of fork(2).
  @inline(never)
  func close() {
    guard forkGeneration == Kernel.forkGeneration else { return }
    // The number is free whatever close(2) returns.
    if let closing { closing() } else { Unshared.close(fileDescriptor) }
  }

  // A destroyed item is a member of no mode, and none of its callouts runs, so this ends the last hold.
  deinit { giveUp() }
}
