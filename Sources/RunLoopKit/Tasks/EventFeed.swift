internal import Synchronization

/// Between the items of a sequence and the tasks that await its elements.
///
/// The items are members of their mode only while a task waits. So nothing piles up here: what happens meanwhile waits
/// where it waits for any item that is in no mode (in the descriptor, in the queue of a port, with the kernel). What
/// cannot wait, such as the activities of a loop, is kept here, up to a limit.
package final class EventFeed<Element: Sendable>: @unchecked Sendable {
  private struct State: ~Copyable {
    /// In the order of their calls.
    var waiting = Row<Resumption<Element?>>()
    /// Elements for which no task has waited.
    var ready = Row<Element>()
    var end: End?
  }

  /// No item is left.
  private enum End {
    case finished
    case lost(RunLoopError)

    func result() -> Result<Element?, any Error> {
      switch self {
      case .finished: .success(nil)
      case .lost(let error): .failure(error)
      }
    }
  }

  private struct WeakItem {
    weak var item: RunLoop.Item?
  }

  private let loop: RunLoop
  private let mode: RunLoop.Mode
  /// How many elements are kept of items that stay members, the newest ones; nil: they leave the mode.
  private let kept: Int?
  private let lock = Lock()
  /// The closures of its items that were not released.
  private let turns = Atomic<Int>(0)
  /// Guarded by `lock`.
  @exclusivity(unchecked) private var state = State()
  /// Held while items are added and removed; never inside of `lock`. That calls no user code, but if a port with peers
  /// in other processes cannot be served any more for want of a thread: then it resumes who awaits their answers.
  private let membership = Lock()
  /// While they are in no mode. Guarded by `membership`, as what follows.
  private var idle: [RunLoop.Item] = []
  /// While the loop holds them, and nobody else: with the loop they go.
  private var joined: [WeakItem] = []
  /// Of the loop's end.
  private var watch: RunLoop.Source?

  init(_ loop: RunLoop, _ mode: RunLoop.Mode, keepingNewest kept: Int?) {
    self.loop = loop
    self.mode = mode
    self.kept = kept
  }

  /// No item will come. Before the first call of `next`.
  package func finish() { lock.withLock { state.end = .finished } }

  /// Before the first call of `next`. The item's closure holds a turn, and nothing else that keeps this feed.
  package func append(_ item: RunLoop.Item) { membership.withLock { idle.append(item) } }

  /// For the closure of one item.
  package func makeTurn() -> EventTurn<Element> {
    turns.add(1, ordering: .relaxed)
    return EventTurn(self)
  }

  // MARK: A task

  nonisolated(nonsending) func next() async throws -> Element? {
    try await Resumption<Element?>.wait { task in
      if let result = take(for: task) {
        task.settle(result)
        return { false }
      }
      do {
        try join()
      } catch {
        guard withdraw(task) else { return { false } }
        throw error
      }
      return { [self] in withdraw(task) }
    }
  }

  /// What is there without waiting; nil: the task waits from now on.
  private func take(for task: Resumption<Element?>) -> Result<Element?, any Error>? {
    lock.withLock {
      if let element = state.ready.takeFirst() {
        state.ready.trim()
        return .success(element)
      }
      if let end = state.end { return end.result() }
      state.waiting.append(task)
      return nil
    }
  }

  /// False if it does not wait any more.
  private func withdraw(_ task: Resumption<Element?>) -> Bool {
    let wasWaiting = lock.withLock {
      state.waiting.remove { $0 === task } != nil
    }
    if wasWaiting { leaveUnlessAwaited() }
    return wasWaiting
  }

  private var isAwaited: Bool { lock.withLock { !state.waiting.isEmpty } }

  // MARK: The items

  /// Adds the items. Of those that stay members before the first call of `next`, too.
  func join() throws {
    var held: [RunLoop.Item] = []  // as in `hasLost`: the loop may end meanwhile
    defer { withExtendedLifetime(held) {} }
    try membership.withLock {
      while kept != nil || isAwaited, let item = idle.last {
        held.append(item)
        try loop.add(item, to: mode)
        joined.append(WeakItem(item: item))
        idle.removeLast()
      }
    }
  }

  /// Decided under the same lock as joining, so that none leaves behind the back of a task that has come to wait.
  private func leaveUnlessAwaited() {
    if kept != nil { return }
    membership.lock()
    defer { membership.unlock() }
    if !isAwaited { leave() }
  }

  /// With `membership` held.
  private func leave() {
    for case let item? in joined.map(\.item) {
      idle.append(item)  // from here on it is held
      loop.remove(item, from: mode)
    }
    joined = []
  }

  /// In the item's callout.
  fileprivate func deliver(_ element: Element) {
    let task = lock.withLock { () -> Resumption<Element?>? in
      if let task = state.waiting.takeFirst() {
        state.waiting.trim()
        return task
      }
      keep(element)
      return nil
    }
    leaveUnlessAwaited()
    task?.settle(.success(element))
  }

  /// The same for all tasks that wait: also for those that come until the items have left the mode, since the loop does
  /// not report an end again to an item that stays.
  fileprivate func deliverToAll(_ element: Element) {
    let tasks = membership.withLock {
      defer { if kept == nil { leave() } }
      return takeWaiting()
    }
    if tasks.isEmpty { return deliver(element) }
    for task in tasks { task.settle(.success(element)) }
  }

  /// For the next task that asks. With `lock` held.
  private func keep(_ element: Element) {
    state.ready.append(element)
    if let kept, state.ready.count > kept { _ = state.ready.takeFirst() }
  }

  private func takeWaiting() -> [Resumption<Element?>] {
    lock.withLock {
      var tasks: [Resumption<Element?>] = []
      while let task = state.waiting.takeFirst() { tasks.append(task) }
      state.waiting.trim()
      return tasks
    }
  }

  /// The closure of an item was released; `isDone`: it had nothing more to deliver.
  fileprivate func hasLost(isDone: Bool) {
    guard loop.isInThisProcess else { return }
    // What the others leave in the lists goes with the last one: thousands may end, each at the same cost.
    if turns.subtract(1, ordering: .acquiringAndReleasing).newValue > 0, isDone { return }
    var held: [RunLoop.Item] = []  // released without the lock: this may be the last reference
    membership.withLock {
      held = joined.compactMap(\.item) + idle
      joined.removeAll { $0.item?.isValid != true }
      idle.removeAll { !$0.isValid }
    }
    withExtendedLifetime(held) {}
    let end: End = isDone ? .finished : .lost(loop.hasEnded ? loop.endedError : .invalidItem("the sequence's item"))
    let first = lock.withLock {
      let first = state.end ?? end
      state.end = first
      return first
    }
    let waiting = takeWaiting()
    leaveUnlessAwaited()
    for task in waiting { task.settle(first.result()) }
  }

  // MARK: The loop's end

  /// In the mode as long as the sequence, for its closure to be released when the loop ends: the items are mostly in no
  /// mode. Hidden, and keeps no run going.
  func watchTheLoop() throws {
    let turn = LoopTurn(self)
    let watch = RunLoop.Source { _ in withExtendedLifetime(turn) {} }
    watch.isHidden = true
    watch.keepsRunning = false
    watch.endsWithItsLoop = true
    membership.withLock { self.watch = watch }
    try loop.add(watch, to: mode)
  }

  /// Nobody will serve the items: so that the senders of a port learn of it, and each task that waits.
  fileprivate func loopHasEnded() {
    if loop.isInThisProcess, loop.hasEnded { cancel() }
  }

  /// No task will call any more, or the loop has ended.
  func cancel() {
    guard loop.isInThisProcess else { return }
    let items = membership.withLock {
      let items = idle + joined.compactMap(\.item) + [watch].compactMap(\.self)
      idle = []
      watch = nil
      return items
    }
    for item in items { item.invalidate() }
  }
}

/// Held by the closure of what the loop's end invalidates.
private final class LoopTurn<Element: Sendable>: Sendable {
  private let feed: EventFeed<Element>

  init(_ feed: EventFeed<Element>) { self.feed = feed }

  deinit { feed.loopHasEnded() }
}

/// The way from an item's closure, which alone holds it, to the feed.
package final class EventTurn<Element: Sendable>: Sendable {
  private let feed: EventFeed<Element>
  private let isDone = Atomic<Bool>(false)

  fileprivate init(_ feed: EventFeed<Element>) { self.feed = feed }

  /// In the item's callout. `isLast`: the item is invalid after it.
  package func deliver(_ element: Element, isLast: Bool = false) {
    if isLast { finish() }
    feed.deliver(element)
  }

  /// In the item's callout: no more elements come, and the item is invalid after it.
  package func finish() { isDone.store(true, ordering: .releasing) }

  package var isFinished: Bool { isDone.load(ordering: .acquiring) }

  /// In the item's callout: an element for each task that waits.
  package func deliverToAll(_ element: Element) { feed.deliverToAll(element) }

  deinit { feed.hasLost(isDone: isFinished) }
}
