extension RunLoop {
  /// What a host polls to learn that a mode has work.
  ///
  /// If a new value equals the previous one, a host that watches the descriptor with its own epoll instance need not
  /// add it again.
  public struct HostDescriptor: Hashable, Sendable {
    /// The descriptor that the host polls for reading, level-triggered. It is readable whenever the mode has work
    /// [RLK-HOST-1].
    ///
    /// The loop owns it: do not close it. It keeps its number until the loop's thread has ended.
    public let fileDescriptor: Int32

    /// Changes when the loop replaces the epoll instance that the number stands for.
    ///
    /// The loop does that when a watched descriptor was closed before its source was removed [RLK-HOST-5]. An epoll
    /// instance of the host then no longer watches the number: add it again (`EPOLL_CTL_ADD`). A host that polls with
    /// poll(2) or select(2) need not care.
    public let generation: UInt64
  }
}
