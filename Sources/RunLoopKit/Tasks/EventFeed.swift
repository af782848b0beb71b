internal import Synchronization

/// Hands the events of a sequence's items, as elements, to the tasks that await them.
///
/// Most items are members of their mode only while a task waits. While none does, events wait where they arise: in the
/// descriptor, in a port's queue, in the kernel. Items whose events cannot wait there, such as a loop's activities,
/// stay members, and the feed keeps their events up to a limit.
package final class EventFeed<Element: Sendable>: @unchecked Sendable {
  private struct State: ~Copyable {
    /// Tasks that wait, in the order of their calls.
    var waiting = Row<Resumption<Element?>>()
    /// Elements that came while no task waited.
    var ready = Row<Element>()
    var end: End?
  }

  /// Why no more elements come: all items have delivered their last one, or an item was lost.
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
  /// How many of the newest elements the feed keeps, while the items stay members. If it is nil, the items leave the
  /// mode while no task waits, and the feed keeps only what they report before they have left.
  private let kept: Int?
  private let lock = Lock()
  /// How many of the items' closures exist.
  private let turns = Atomic<Int>(0)
  /// Guarded by `lock`.
  private var state = State()
  /// Held while items are added and removed; never taken under `lock`. Adding and removing calls no user code, with one
  /// exception: if the I/O thread refuses a port's connections, the tasks that await answers on these resume.
  private let membership = Lock()
  /// The items while they are in no mode. Guarded by `membership`, like all below.
  private var idle: [RunLoop.Item] = []
  /// The items while they are members. Only the loop retains them, so that they are released with it.
  private var joined: [WeakItem] = []
  /// The hidden source of `watchTheLoop`.
  private var watch: RunLoop.Source?

  init(_ loop: RunLoop, _ mode: RunLoop.Mode, keepingNewest kept: Int?) {
    self.loop = loop
    self.mode = mode
    self.kept = kept
  }

  /// Marks a sequence without items as finished. Call it before the first call of `next`.
  package func finish() { lock.withLock { state.end = .finished } }

  /// Call it before the first call of `next`. The item's closure must retain a turn, and must retain this feed only
  /// through that turn.
  package func append(_ item: RunLoop.Item) {
    item.noteAdding()  // it is added when a task waits, and perhaps never
    membership.withLock { idle.append(item) }
  }

  /// Creates the turn that the closure of one item retains.
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

  /// Returns what `next` can return at once. Otherwise adds the task to those that wait, and returns nil.
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

  /// Removes the task from those that wait. Returns false if it does not wait any more.
  private func withdraw(_ task: Resumption<Element?>) -> Bool {
    let wasWaiting = lock.withLock {
      state.waiting.remove { $0 === task } != nil
    }
    if wasWaiting { leaveUnlessAwaited() }
    return wasWaiting
  }

  private var isAwaited: Bool { lock.withLock { !state.waiting.isEmpty } }

  // MARK: The items

  /// Adds the items to the mode. Items that stay members are added before the first call of `next`.
  func join() throws {
    var held: [RunLoop.Item] = []  // released without the lock: each may be the last reference
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

  /// Removes the items if no task waits. `join` also holds `membership`, so no item leaves while a joined task waits.
  private func leaveUnlessAwaited() {
    if kept != nil { return }
    membership.lock()
    defer { membership.unlock() }
    if !isAwaited { leave() }
  }

  /// Removes the items from the mode. With `membership` held.
  private func leave() {
    for case let item? in joined.map(\.item) {
      idle.append(item)  // retains the item before the loop releases it
      loop.remove(item, from: mode)
    }
    joined = []
  }

  /// Passes an element to the first task that waits, or keeps it. Call it in the item's callout.
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

  /// Passes an element to all tasks that wait. The items leave the mode while `membership` is held, so that a task that
  /// comes later adds them again. This is necessary because the loop reports an end, such as a hang-up, only once to an
  /// item that stays in the mode.
  fileprivate func deliverToAll(_ element: Element) {
    let tasks = membership.withLock {
      defer { if kept == nil { leave() } }
      return takeWaiting()
    }
    if tasks.isEmpty { return deliver(element) }
    for task in tasks { task.settle(.success(element)) }
  }

  /// Keeps an element for the next task, and drops the oldest over the limit. With `lock` held.
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

  /// Called when an item's closure was released. `isDone` is true if the item had delivered its last element.
  fileprivate func hasLost(isDone: Bool) {
    guard loop.isInThisProcess else { return }
    // While other items are left, an item that is done does not search the lists, so that each of thousands of items
    // ends in constant time.
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

  /// Adds a hidden source, which keeps no run going, to the mode for as long as the sequence exists. The loop releases
  /// the source's closure when the loop ends, even if the items are in no mode then.
  func watchTheLoop() throws {
    let turn = LoopTurn(self)
    let watch = RunLoop.Source { _ in withExtendedLifetime(turn) {} }
    watch.isHidden = true
    watch.keepsRunning = false
    watch.endsWithItsLoop = true
    membership.withLock { self.watch = watch }
    try loop.add(watch, to: mode)
  }

  /// Invalidates the items when the loop has ended. So the senders of a port and the waiting tasks get an error.
  fileprivate func loopHasEnded() {
    if loop.isInThisProcess, loop.hasEnded { cancel() }
  }

  /// Invalidates the items, because no task can call `next` any more, or the loop has ended.
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

/// Only the closure of the hidden source retains this object, so the deinit notices the loop's end.
private final class LoopTurn<Element: Sendable>: Sendable {
  private let feed: EventFeed<Element>

  init(_ feed: EventFeed<Element>) { self.feed = feed }

  deinit { feed.loopHasEnded() }
}

/// Connects an item's closure to the feed. Only the closure retains the turn, so the turn's deinit notices the release
/// of the closure.
package final class EventTurn<Element: Sendable>: Sendable {
  private let feed: EventFeed<Element>
  private let isDone = Atomic<Bool>(false)

  fileprivate init(_ feed: EventFeed<Element>) { self.feed = feed }

  /// Delivers an element, in the item's callout. If `isLast` is true, the item is invalid after that callout.
  package func deliver(_ element: Element, isLast: Bool = false) {
    if isLast { finish() }
    feed.deliver(element)
  }

  /// Call it in the item's callout if no more elements come; the item is invalid after that callout.
  package func finish() { isDone.store(true, ordering: .releasing) }

  package var isFinished: Bool { isDone.load(ordering: .acquiring) }

  /// Delivers an element to each task that waits, in the item's callout.
  package func deliverToAll(_ element: Element) { feed.deliverToAll(element) }

  deinit { feed.hasLost(isDone: isFinished) }
}
