extension RunLoop {
  /// Items, display links and commits that are invalidated together: by `invalidate()`, or when the last reference to
  /// the group is released.
  ///
  /// Keep a group where you would keep the items, for example in a session that ends.
  ///
  /// ```swift
  /// let (loop, group) = (RunLoop.current, RunLoop.ItemGroup())
  /// group.add(try loop.timer(after: .seconds(30)) { _ in print("no answer") })
  /// let watcher = group.add(try loop.observe(.beforeWaiting) { _, _ in print("waiting") })
  /// group.invalidate()
  /// print(watcher.isValid)  // prints false
  /// ```
  ///
  /// The group does not add its members to a mode, and the members may be in different loops. It retains a member while
  /// it is valid, so a member whose closure retains the group keeps both until one of them is invalidated.
  /// - Thread: Any, for all members.
  public final class ItemGroup: @unchecked Sendable {
    fileprivate enum Member {
      case item(Item)
      case link(DisplayLink)
      case commit(Commit)
    }

    private static let least = 16

    private let lock = Lock()
    /// In the order of adding; nil once the group was invalidated. Guarded by `lock`.
    private var members: [Member]? = []
    /// At this number of members the group drops those that are invalid. Guarded by `lock`.
    private var limit = least

    /// Creates an empty group.
    public init() {}

    deinit { invalidate() }

    /// Makes an item a member. If the group was invalidated, invalidates the item at once [RLK-GROUP-3].
    /// - Returns: The item, so that the call may stand around the one that makes it.
    /// - Complexity: O(1), amortized: now and then the group drops its invalid members [RLK-GROUP-5].
    @discardableResult
    public func add<New: Item>(_ item: New) -> New {
      append(.item(item))
      return item
    }

    /// Makes a display link a member. If the group was invalidated, invalidates the link at once.
    @discardableResult
    public func add(_ link: DisplayLink) -> DisplayLink {
      append(.link(link))
      return link
    }

    /// Makes a commit a member. If the group was invalidated, invalidates the commit at once.
    @discardableResult
    public func add(_ commit: Commit) -> Commit {
      append(.commit(commit))
      return commit
    }

    /// Invalidates the members, in the order in which they were added [RLK-GROUP-1]. The release of the group's last
    /// reference does the same, on the thread that releases it [RLK-GROUP-2]. In a child of fork(2) that inherited the
    /// group, neither does anything [RLK-GROUP-6].
    ///
    /// The call does not wait for callouts that run on other threads, as `Item.invalidate(finally:)` does not.
    /// - Re-entry: Allowed, also in callouts of the members, in their `cancel` hooks, and in what the release of their
    ///   closures calls; no lock is held there. A call that comes while another one invalidates, inside of it or on
    ///   another thread, returns at once, and the other one goes on [RLK-GROUP-4].
    /// - Blocks: Not on callouts. - Complexity: O(members * modes).
    public func invalidate() {
      guard !isForked else { return }
      for member in lock.withLock({ members.take() }) ?? [] { member.invalidate() }
    }

    /// False once `invalidate()` was called, and in a child of fork(2) that inherited the group.
    public var isValid: Bool { !isForked && lock.withLock { members != nil } }

    private var isForked: Bool { lock.forkGeneration != Kernel.forkGeneration }

    private func append(_ member: Member) {
      guard !isForked else { return }
      var previous: [Member]?  // the release of a member may call user code, so it happens without the lock
      let isAccepted = lock.withLock {
        guard members != nil else { return false }
        if members?.count == limit {
          previous = members
          members?.removeAll { !$0.isValid }
          limit = max(Self.least, 2 * (members?.count ?? 0))
        }
        members?.append(member)
        return true
      }
      withExtendedLifetime(previous) {}
      if !isAccepted { member.invalidate() }
    }
  }
}

extension RunLoop.ItemGroup.Member {
  fileprivate var isValid: Bool {
    switch self {
    case .item(let item): item.isValid
    case .link(let link): link.isValid
    case .commit(let commit): commit.isValid
    }
  }

  fileprivate func invalidate() {
    switch self {
    case .item(let item): item.invalidate()
    case .link(let link): link.invalidate()
    case .commit(let commit): commit.invalidate()
    }
  }
}
