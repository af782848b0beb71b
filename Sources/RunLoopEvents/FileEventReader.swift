import RunLoopKit
internal import RunLoopLibc

/// An inotify instance that several watches share.
///
/// Whichever of its loops comes first reads some events, and gives each to the watches that want it, of all loops and
/// modes. It reads no further while a watch of the mode that runs has an event: the kernel keeps the others.
final class FileEventReader: @unchecked Sendable {
  /// In the modes that its watches are in.
  let shared: SharedReader
  private let lock = Lock()
  /// Its descriptor is open while a watch is left.
  private let inotify: Inotify
  /// Guarded by `lock`, like all below.
  private var targets: [Int32: Target] = [:]
  private var watchCount = 0
  private var isOver = false
  /// The watches of a mode that have an event, in the order of their turns.
  private var turns: [ModePointer: FileEventTurns] = [:]
  /// Targets that were removed: what the kernel has for the number before its `ignored` is not for another watch.
  private var removed: Set<Int32> = []
  private var check: LossCheck?
  /// References that were made under the lock, to be released without it: one may be the watch's last.
  private var held: [RunLoop.FileWatch] = []

  /// A file or folder, whose number the watches of all its names share.
  private final class Target {
    /// What the kernel watches it for; more than the watches want if it could not be narrowed.
    var mask: UInt32
    /// In the order of making.
    var queues: ContiguousArray<FileEventQueue>

    init(_ queue: FileEventQueue) {
      mask = queue.mask
      queues = [queue]
    }
  }

  /// After a loss of events: the targets that no longer existed, and how many bytes of earlier events are delivered
  /// before their watches end.
  private struct LossCheck {
    var gone: [Int32]
    var bytes: Int
    let removed: Set<Int32>
  }

  /// - Parameter path: What it is made for: named in errors.
  init(about path: [UInt8]) throws(RunLoopError) {
    let made = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
    inotify = Inotify(descriptor: try RunLoopError.checkDescriptor(made, "inotify_init1", SystemPath.text(path)))
    let item = try FileEventItem(OwnedDescriptor(inotify.descriptor), kind: .connection, order: 0, onlyHost: nil)
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

  /// False if its last watch has gone: there is no instance any more.
  func insert(_ queue: FileEventQueue) throws(RunLoopError) -> Bool {
    try locked { () throws(RunLoopError) in
      guard !isOver else { return false }
      let number = inotify.watch(queue.path, adding: queue.mask)
      // Counted first: so its caller ends an instance that was made for it.
      watchCount += 1
      try RunLoopError.check(number, "inotify_add_watch", SystemPath.text(queue.path))
      queue.target = number
      guard let target = targets[number] else {
        targets[number] = Target(queue)
        return true
      }
      // What has happened until now is not for the new one.
      target.mask |= queue.mask
      var bytes = inotify.pendingBytes
      while bytes > 0, let size = deliverSome() { bytes -= size }
      if targets[number] === target { target.queues.append(queue) } else { queue.append(.ended) }
      return true
    }
  }

  /// The watch is invalid or gone, or has not come about. True if it was the last: the instance is gone, too.
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

  /// A path has turned out to name another target, for which that is watched now, too.
  private func undo(_ number: Int32, _ mask: UInt32) {
    if let target = targets[number] {
      target.mask |= mask
    } else {
      removed.insert(number)
      inotify.remove(number)
    }
  }

  // MARK: Events

  /// The watch is in a mode in which it was not: with its events, if some wait.
  func hasJoined(_ queue: FileEventQueue) {
    locked { if !queue.isEmpty { hold(queue.watch)?.forEachMode { enter(queue, in: $0) } } }
  }

  /// The oldest event of a watch whose turn in the mode it is.
  func nextEvent(of queue: FileEventQueue, in mode: ModePointer) -> RunLoop.FileWatch.Event? {
    locked {
      let event = queue.takeFirst()
      if !queue.isEmpty { enter(queue, in: mode) }
      return event
    }
  }

  /// A watch whose turn in the mode it is.
  func nextWatch(in mode: ModePointer) -> RunLoop.FileWatch? { locked { nextWatchLocked(in: mode) } }

  /// Reads until there is an event for the mode, and no further than there were events at first: those for other modes
  /// must go in any case, and a poll that finds nothing says so.
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

  /// Reads some events. How many bytes these were; nil: there is none.
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

  /// Any watch may have missed something, and so its end. What the kernel has kept behind the loss comes first; `left`
  /// bytes of that were read.
  private func eventsAreLost(before left: Int) {
    for target in targets.values { for queue in target.queues { deliver(.overflow, to: queue) } }
    let listed = inotify.listedTargets
    let gone = targets.keys.filter { !listed.contains($0) && hasVanished($0) }
    check = LossCheck(gone: gone, bytes: left + inotify.pendingBytes, removed: removed)
    passLossCheck(by: 0)
  }

  /// The kernel does not list it: it is gone, or the kernel lists nothing.
  private func hasVanished(_ number: Int32) -> Bool {
    guard let target = targets[number], let queue = target.queues.first else { return true }
    let found = inotify.watch(queue.path, adding: target.mask)
    if found == number { return false }
    if found >= 0 { undo(found, target.mask) }
    inotify.remove(number)  // for certain: if it was renamed, no event of it says so any more
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

/// The item that reads an instance.
private final class FileEventItem: RunLoop.EventSource, EventService, @unchecked Sendable {
  /// Set once, before it is in any mode.
  weak var reader: FileEventReader?

  /// Serves the turn of a watch that has an event.
  package func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
    if let watch = reader?.nextWatch(in: mode) { loop.serveNext(watch) }
    return false
  }

  package var summary: String { "<file event reader, \(isValid ? "valid" : "invalid")>" }
}

/// The watches of a mode that have an event, each once.
private final class FileEventTurns {
  private var queues = Row<FileEventQueue>()
  private var entered: Set<ObjectIdentifier> = []

  func insert(_ queue: FileEventQueue) { if entered.insert(ObjectIdentifier(queue)).inserted { queues.append(queue) } }

  func takeFirst() -> FileEventQueue? {
    guard let queue = queues.takeFirst() else { return nil }
    entered.remove(ObjectIdentifier(queue))
    return queue
  }

  /// True if none is left.
  func remove(_ queue: FileEventQueue) -> Bool {
    if entered.remove(ObjectIdentifier(queue)) != nil { _ = queues.remove { $0 === queue } }
    return queues.isEmpty
  }
}
