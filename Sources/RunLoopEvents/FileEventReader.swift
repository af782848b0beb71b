import RunLoopKit
internal import RunLoopLibc

/// An inotify instance that several watches share.
///
/// The first of the watches' loops that runs reads some events, and appends each to the queue of every watch that wants
/// it, in all loops and modes. A loop reads no more while a watch of its running mode has an event: the kernel keeps
/// the rest.
final class FileEventReader: @unchecked Sendable {
  /// The item that follows the watches into their modes.
  let shared: SharedReader
  private let lock = Lock()
  /// The instance's descriptor stays open while there is a watch.
  private let inotify: Inotify
  /// Guarded by `lock`, like all below.
  private var targets: [Int32: Target] = [:]
  private var watchCount = 0
  private var isOver = false
  /// For each mode, its watches that have an event, in the order in which they are served.
  private var turns: [ModePointer: FileEventTurns] = [:]
  /// Numbers of removed targets, until the kernel reports `ignored` for them. Events for these numbers are dropped.
  private var removed: Set<Int32> = []
  private var check: LossCheck?
  /// References that were created under the lock. They are released after unlocking: a watch's deinit takes the lock.
  private var held: [RunLoop.FileWatch] = []

  /// A watched file or folder. Watches of all its names share its number.
  private final class Target {
    /// The events that the kernel reports. They are more than the watches want if the mask could not be narrowed.
    var mask: UInt32
    /// The queues of its watches, in the order of their creation.
    var queues: ContiguousArray<FileEventQueue>

    init(_ queue: FileEventQueue) {
      mask = queue.mask
      queues = [queue]
    }
  }

  /// Made after a loss of events. After `bytes` more bytes of events, the watches of the `gone` targets end, and the
  /// reader forgets the numbers in `removed`, whose `ignored` may be lost.
  private struct LossCheck {
    var gone: [Int32]
    var bytes: Int
    let removed: Set<Int32>
  }

  /// - Parameter path: The first watched path, for errors.
  init(about path: [UInt8]) throws(RunLoopError) {
    let made = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
    inotify = Inotify(descriptor: try RunLoopError.checkDescriptor(made, "inotify_init1", SystemPath.text(path)))
    let item = try FileEventItem(OwnedDescriptor(inotify.descriptor), kind: .connection, order: 0, onlyLoop: nil)
    shared = SharedReader(item)
    item.reader = self
  }

  private func locked<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    lock.lock()
    defer {
      var passed: [RunLoop.FileWatch] = []
      swap(&passed, &held)
      lock.unlock()
      withExtendedLifetime(passed) {}
    }
    return try body()
  }

  private func hold(_ watch: RunLoop.FileWatch?) -> RunLoop.FileWatch? {
    if let watch { held.append(watch) }
    return watch
  }

  // MARK: Watches

  /// Adds a watch's queue. False if the last watch has left, which has closed the instance.
  func insert(_ queue: FileEventQueue) throws(RunLoopError) -> Bool {
    try locked { () throws(RunLoopError) in
      guard !isOver else { return false }
      let number = inotify.watch(queue.path, adding: queue.mask)
      // The count grows before the check: if the check throws, the caller's `remove` subtracts the watch, and closes an
      // instance that was created for this watch.
      watchCount += 1
      try RunLoopError.check(number, "inotify_add_watch", SystemPath.text(queue.path))
      queue.target = number
      guard let target = targets[number] else {
        targets[number] = Target(queue)
        return true
      }
      // Earlier events are not for the new watch, so they are read first.
      target.mask |= queue.mask
      var bytes = inotify.pendingBytes
      while bytes > 0, let size = deliverSome() { bytes -= size }
      if targets[number] === target { target.queues.append(queue) } else { queue.append(.ended) }
      return true
    }
  }

  /// Removes a watch's queue. If it was the last one, closes the instance and returns true.
  func remove(_ queue: FileEventQueue) -> Bool {
    guard lock.forkGeneration == Kernel.forkGeneration else { return false }
    let isLast = locked {
      watchCount -= 1
      isOver = watchCount == 0
      for (mode, turns) in turns where turns.remove(queue) { self.turns[mode] = nil }
      if !isOver, let target = targets[queue.target] { leave(target, queue) }
      return isOver
    }
    if isLast { shared.item.invalidate() }
    return isLast
  }

  private func leave(_ target: Target, _ queue: FileEventQueue) {
    target.queues.removeAll { $0 === queue }
    guard let first = target.queues.first else {
      targets[queue.target] = nil
      removed.insert(queue.target)
      return inotify.remove(queue.target)
    }
    let wanted = target.queues.reduce(0) { $0 | $1.mask }
    guard wanted != target.mask else { return }
    var other: Int32?
    if inotify.narrow(first.target, at: first.path, to: wanted, other: &other) { target.mask = wanted }
    if let other { undo(other, wanted) }
  }

  /// Undoes a call of `Inotify.watch` that has found another target, because the path names that one now.
  private func undo(_ number: Int32, _ mask: UInt32) {
    if let target = targets[number] {
      target.mask |= mask
    } else {
      removed.insert(number)
      inotify.remove(number)
    }
  }

  // MARK: Events

  /// Called when a watch was initialised. Its queue may have events already, which other loops have read after
  /// `insert`.
  func assign(_ watch: RunLoop.FileWatch, to queue: FileEventQueue) { locked { queue.watch = watch } }

  /// Called when a watch has entered a mode. If the watch has events, it gets a turn in its modes.
  func hasJoined(_ queue: FileEventQueue) {
    locked { if !queue.isEmpty { hold(queue.watch)?.forEachMode { enter(queue, in: $0) } } }
  }

  /// Removes the watch's oldest event, to deliver it in the mode. If there are more, the watch is served again after
  /// the others.
  func nextEvent(of queue: FileEventQueue, in mode: ModePointer) -> RunLoop.FileWatch.Event? {
    locked {
      let event = queue.takeFirst()
      if !queue.isEmpty { enter(queue, in: mode) }
      return event
    }
  }

  func nextWatch(in mode: ModePointer) -> RunLoop.FileWatch? { locked { nextWatchLocked(in: mode) } }

  /// Reads until there is an event for the mode, but no more events than there were at first. Events for other modes
  /// must be read, too: otherwise the instance would stay readable, and the loop could not sleep.
  private func nextWatchLocked(in mode: ModePointer) -> RunLoop.FileWatch? {
    var left: Int?
    while true {
      while let queue = turns[mode]?.takeFirst() {
        guard !queue.isEmpty, let watch = hold(queue.watch) else { continue }
        if watch.isValid, watch.isMember(of: mode) { return watch }
      }
      turns[mode] = nil
      guard left ?? 1 > 0, let size = deliverSome() else { return nil }
      left = left.map { $0 - size } ?? inotify.pendingBytes
    }
  }

  private func enter(_ queue: FileEventQueue, in mode: ModePointer) {
    if turns[mode] == nil { turns[mode] = FileEventTurns() }
    turns[mode]?.insert(queue)
  }

  private func deliver(_ event: RunLoop.FileWatch.Event, to queue: FileEventQueue) {
    queue.append(event)
    hold(queue.watch)?.forEachMode { enter(queue, in: $0) }
  }

  /// Reads some events and delivers them. Returns their size in bytes; nil if there were none.
  private func deliverSome() -> Int? {
    let records = inotify.read()
    var left = records.reduce(0) { $0 + $1.size }
    let size = left
    for record in records {
      left -= record.size
      if record.mask & Inotify.overflow != 0 { eventsAreLost(before: left) } else { deliver(record) }
      if check != nil { passLossCheck(by: record.size) }
    }
    return records.isEmpty ? nil : size
  }

  private func deliver(_ record: Inotify.Record) {
    let isIgnored = record.mask & Inotify.ignored != 0
    guard !removed.contains(record.target) else {
      if isIgnored { removed.remove(record.target) }
      return
    }
    guard let target = targets[record.target], let event = RunLoop.FileWatch.Event(record) else { return }
    if isIgnored {
      targets[record.target] = nil
      for queue in target.queues { queue.target = -1 }
    }
    let isForAll = record.mask & (Inotify.ignored | Inotify.unmounted) != 0
    for queue in target.queues where isForAll || record.mask & queue.mask != 0 { deliver(event, to: queue) }
  }

  // MARK: Losses

  /// Handles a loss of events: any watch may have missed some, including the end of its target. Events that the kernel
  /// has queued after the loss are delivered before an `.ended`; `left` bytes of them were read already.
  private func eventsAreLost(before left: Int) {
    for target in targets.values { for queue in target.queues { deliver(.overflow, to: queue) } }
    let listed = inotify.listedTargets
    let gone = targets.keys.filter { !listed.contains($0) && hasVanished($0) }
    check = LossCheck(gone: gone, bytes: left + inotify.pendingBytes, removed: removed)
    passLossCheck(by: 0)
  }

  /// True if a target that the kernel does not list is gone. The list is empty if /proc cannot be read, so this
  /// function watches the path again to make sure.
  private func hasVanished(_ number: Int32) -> Bool {
    guard let target = targets[number], let queue = target.queues.first else { return true }
    let found = inotify.watch(queue.path, adding: target.mask)
    if found == number { return false }
    if found >= 0 { undo(found, target.mask) }
    inotify.remove(number)  // the target may only have been renamed, but the event for that is lost
    return true
  }

  private func passLossCheck(by bytes: Int) {
    check?.bytes -= bytes
    guard let passed = check, passed.bytes <= 0 else { return }
    check = nil
    removed.subtract(passed.removed.union(passed.gone))
    for number in passed.gone {
      guard let target = targets.removeValue(forKey: number) else { continue }
      for queue in target.queues {
        queue.target = -1
        deliver(.ended, to: queue)
      }
    }
  }
}

/// The event source of an instance.
private final class FileEventItem: RunLoop.EventSource, EventService, @unchecked Sendable {
  /// Set once, before the item is in a mode.
  weak var reader: FileEventReader?

  package func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
    if let watch = reader?.nextWatch(in: mode) { loop.serveNext(watch) }
    return false
  }

  package var summary: String { "<file event reader, \(isValid ? "valid" : "invalid")>" }
}

/// The watches of a mode that have an event, each once, in the order in which they are served.
private final class FileEventTurns {
  private var queues = Row<FileEventQueue>()
  private var entered: Set<ObjectIdentifier> = []

  func insert(_ queue: FileEventQueue) { if entered.insert(ObjectIdentifier(queue)).inserted { queues.append(queue) } }

  func takeFirst() -> FileEventQueue? {
    guard let queue = queues.takeFirst() else { return nil }
    entered.remove(ObjectIdentifier(queue))
    return queue
  }

  /// Removes a watch. Returns true if none is left.
  func remove(_ queue: FileEventQueue) -> Bool {
    if entered.remove(ObjectIdentifier(queue)) != nil { _ = queues.remove { $0 === queue } }
    return queues.isEmpty
  }
}
