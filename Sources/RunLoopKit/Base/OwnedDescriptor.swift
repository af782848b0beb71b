internal import RunLoopLibc

/// A descriptor that is closed with its item: once, when the item is invalid or gone, is a member of no mode, and none
/// of its callouts runs. Never while it is registered in an epoll set, so that no source receives events of the
/// number's next file.
package final class OwnedDescriptor: Sendable {
  package let fileDescriptor: Int32
  /// The item's own, and one for each membership and each callout that runs.
  private let holds = HoldCount()
  private let forkGeneration = Kernel.forkGeneration

  /// Closes more than the one number; nil: close(2).
  private let closing: (@Sendable () -> Void)?

  package init(_ fileDescriptor: Int32, closing: (@Sendable () -> Void)? = nil) {
    self.fileDescriptor = fileDescriptor
    self.closing = closing
  }

  /// False if it is closed, or about to be.
  package func hold() -> Bool { holds.hold() }

  /// What is to be read of it goes by a read alone: of a pipe or a socket. A timerfd may be set, a signal taken, and an
  /// epoll instance is readable as long as others are. One system call.
  var isStream: Bool {
    var info = stat()
    guard fstat(fileDescriptor, &info) == 0 else { return false }
    return info.st_mode & S_IFMT == S_IFIFO || info.st_mode & S_IFMT == S_IFSOCK
  }

  /// Its item is a member of one mode of all loops, and no callout of it runs; or of none, and one runs.
  var isHeldByOneMode: Bool { holds.count == 2 }

  /// What `hold` has answered with true.
  @inline(__always)
  package func release() {
    if holds.release() { close() }
  }

  /// The item is invalid, or gone: its own hold ends.
  func giveUp() {
    if holds.giveUp() { close() }
  }

  /// Once. In a child of fork(2) the number is left alone.
  @inline(never)
  func close() {
    guard forkGeneration == Kernel.forkGeneration else { return }
    // The number is free whatever close(2) answers.
    if let closing { closing() } else { Unshared.close(fileDescriptor) }
  }

  // An item that is destroyed has no memberships.
  deinit { giveUp() }
}
