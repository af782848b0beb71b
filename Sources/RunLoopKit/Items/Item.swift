internal import Synchronization

extension RunLoop {
  /// What a mode holds: a source, a port source, a file descriptor source, a timer or an observer; not open to others.
  ///
  /// Modes hold strong references to their items; an item that nobody holds is invalidated and destroyed.
  /// - Thread: Any, for all members.
  public class Item: @unchecked Sendable, Hashable, CustomStringConvertible {
    /// Lower is called first, among the observers or signalled sources of a mode; the other kinds ignore it.
    public final let order: Int

    final let validity = Atomic<Bool>(true)
    /// A leaf lock: taken under a loop's lock, never around one.
    private final let leaf = Lock()
    /// Where the item is a member. Guarded by `leaf`.
    @exclusivity(unchecked) private final var links: [ItemLink] = []
    /// The process that made it; in a child of fork(2) an inherited item is dead, and its locks are not to be touched.
    final let forkGeneration = Kernel.forkGeneration
    /// The serial of the only loop that the item may join, if it was made for one; an address may be used again.
    final let onlyHost: UInt64?

    init(order: Int, onlyHost: RunLoop? = nil) {
      self.order = order
      self.onlyHost = onlyHost?.serial
    }

    final var isForked: Bool { forkGeneration != Kernel.forkGeneration }

    /// False once the item was invalidated, and in a child of fork(2) that inherited it.
    public final var isValid: Bool { validity.load(ordering: .acquiring) && !isForked }

    /// Takes the item out of all modes of all loops, for good. Never blocks on a callout: one that runs on another thread
    /// at this moment is not waited for. A second call does nothing.
    ///
    /// - Re-entry: Allowed, also from the item's own callout. - Complexity: O(modes).
    /// - SeeAlso: `CFRunLoopSourceInvalidate`, `CFRunLoopTimerInvalidate`, `CFRunLoopObserverInvalidate`.
    public final func invalidate() {
      guard !isForked, validity.exchange(false, ordering: .sequentiallyConsistent) else { return }
      willLeave()
      for host in hosts() { host.detach(self) }
      didInvalidate()
    }

    /// Clears what must not outlive validity, before the modes are left.
    func willLeave() {}
    /// Releases the context where invalidation does so. No lock is held.
    func didInvalidate() {}

    final func withLinks<R>(_ body: (inout [ItemLink]) -> R) -> R { leaf.withLock { body(&links) } }

    /// For what else subclasses keep under the leaf lock.
    final func withLeafLock<R>(_ body: () -> R) -> R { leaf.withLock(body) }

    private final func hosts() -> [any ItemHost] {
      withLinks { links in
        if links.count == 1 { return [links[0].host] }
        var seen: [any ItemHost] = []
        for link in links where !seen.contains(where: { $0 === link.host }) { seen.append(link.host) }
        return seen
      }
    }

    /// Kind, order, validity and what matters besides; with the words of its context.
    public var description: String { "<item \(order)>" }

    /// Identity; of signalled sources also equal identity hooks and order (rule 28).
    public static func == (a: Item, b: Item) -> Bool { a === b || a.isEqual(to: b) }

    /// Equality beyond identity; only signalled sources have it (rule 28).
    func isEqual(to other: Item) -> Bool { false }

    /// In accordance with equality.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// True if entering and leaving modes is told to somebody.
    var hasHooks: Bool { false }
    /// True if equality is identity.
    var isPlain: Bool { true }
    /// Timers and observers belong to one loop at a time.
    var isExclusive: Bool { false }
  }
}

/// One membership of an item: in a mode of a loop, or in a loop's record of common items (`mode` nil).
struct ItemLink {
  let host: any ItemHost
  let mode: ModePointer?
  /// The token in the mode's deadline heap or port set; 0 for the other kinds.
  let token: UInt64
  /// Grows with each adding to the loop: tells a member from one that was removed and added again.
  let stamp: UInt64
}

extension RunLoop.Item {
  final func link(in mode: ModePointer) -> ItemLink? {
    withLinks { $0.first { $0.mode == mode } }
  }

  final func isMember(of mode: ModePointer) -> Bool {
    withLinks { $0.contains { $0.mode == mode } }
  }

  final func isMember(ofAnyModeOf host: any ItemHost) -> Bool {
    withLinks { $0.contains { $0.host === host && $0.mode != nil } }
  }

  final func isRecorded(by host: any ItemHost) -> Bool {
    withLinks { $0.contains { $0.host === host && $0.mode == nil } }
  }

  /// A timer or an observer belongs to one loop while it is in any of its modes (rules 39, 46).
  final func isFree(for host: any ItemHost) -> Bool {
    !isExclusive || withLinks { $0.allSatisfy { $0.mode == nil || $0.host === host } }
  }

  /// Links the item; false if it belongs to one loop only and another one was faster.
  final func link(_ link: ItemLink) -> Bool {
    withLinks { links in
      if isExclusive, link.mode != nil, !links.allSatisfy({ $0.mode == nil || $0.host === link.host }) { return false }
      links.append(link)
      return true
    }
  }

  final func unlink(mode: ModePointer) {
    withLinks { $0.removeAll { $0.mode == mode } }
  }

  final func unlinkRecord(of host: any ItemHost) {
    withLinks { $0.removeAll { $0.host === host && $0.mode == nil } }
  }
}
