internal import Synchronization

/// The bounded queue of a port's undelivered messages. Send rights retain the mailbox, not the port.
///
/// Its lock is a leaf: a thread may take it under a loop's or an item's lock, and takes neither of those under it. A
/// sender that finds the queue empty marks the port ready in each mode that has the port, under the lock of the mode's
/// loop. A loop that reads a `count` of 0 removes the mark, under its own lock. So a port with messages is marked, or a
/// sender is about to mark it.
package final class Mailbox: Destination, @unchecked Sendable {
  private let lock = Lock()
  let limit: Int
  @exclusivity(unchecked) private var queue = Row<RunLoop.Message>()
  @exclusivity(unchecked) private var charges = QueuedCharges()
  /// True if the queue may contain a message with descriptors.
  @exclusivity(unchecked) private var hasDescriptors = false
  @exclusivity(unchecked) private var memberships = OneOrMany<PortMembership>()
  @exclusivity(unchecked) private var isClosed = false
  /// The number of senders that wait for room: sleeping threads, connections in `stalled`, and tasks in `line`.
  @exclusivity(unchecked) private var waiting = 0
  /// Changes when threads that wait for room must check again.
  private let room = FutexWord()
  /// The queue's count, for reading without the lock.
  private let held = Atomic<Int>(0)
  private let invalidation = Invalidation()
  private let lost = Atomic<Int>(0)
  /// Created with the first connection to another process, and then kept. Set under the lock.
  private var madeTransport: (any PortTransport)?
  private(set) var hooks: RunLoop.Source.HeldHooks?
  private let hasTransport = Atomic<Bool>(false)
  /// Connections that hold a message for the port and wait for room.
  private var stalled: [any RoomWaiter] = []
  @exclusivity(unchecked) private var line = RoomLine()
  /// True if threads and connections got the last room, although a task was in line. The line gets the next room.
  private var lineHasPassed = false

  init(limit: Int) { self.limit = max(limit, 1) }

  package var count: Int { held.load(ordering: .acquiring) }

  package var waitingCount: Int { lock.withLock { waiting } }

  /// How many answers of the port's body could not be delivered.
  var lostReplies: Int { lost.load(ordering: .relaxed) }

  func replyWasLost() { lost.add(1, ordering: .relaxed) }

  private var isForked: Bool { lock.forkGeneration != Kernel.forkGeneration }

  package var isValid: Bool { !isForked && !invalidation.isOver }

  package var mailbox: Mailbox? { self }

  /// A caller that calls `PortConnections.connect` first and then finds the mailbox open is notified of the mailbox's
  /// end.
  package var isOpen: Bool { lock.withLock { !isClosed } }

  package func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation {
    invalidation.observe(body)
  }

  // MARK: Sending

  package func send(_ message: RunLoop.Message, _ timeout: SendTimeout) throws(RunLoopError) {
    guard !isForked else { throw .forked }
    try deliver(try Parcel(message), timeout)
  }

  private func deliver(_ parcel: borrowing Parcel, _ timeout: SendTimeout) throws(RunLoopError) {
    lock.lock()
    while !isClosed, queue.count >= limit { try waitForRoom(timeout) }
    guard !isClosed else {
      lock.unlock()
      RunLoop.Port.explainClosed()
      throw .portInvalid
    }
    try finishSend(parcel)
  }

  /// Call it with the lock held, and when there is room. Releases the lock.
  @inline(__always)
  private func finishSend(_ parcel: borrowing Parcel) throws(RunLoopError) {
    do throws(RunLoopError) {
      try parcel.moveDescriptors()
    } catch {
      let isAwaited = waiting > 0
      lock.unlock()
      if isAwaited { thereIsRoom() }  // this sender may have been woken for room that it does not use now
      throw error
    }
    if parcel.descriptorCount > 0 { hasDescriptors = true }
    let wasEmpty = queue.count == 0
    queue.append(parcel.message)
    held.store(queue.count, ordering: .releasing)
    guard wasEmpty, let first = memberships.first else { return lock.unlock() }
    let others = memberships.others
    lock.unlock()
    first.loop.messageCame(first)
    if let others { for membership in others { membership.loop.messageCame(membership) } }
  }

  /// Sends at once if there is room and no task waits for it. Otherwise the message waits in line.
  package func send(_ message: RunLoop.Message, whenOver: @escaping SendEnd) throws(RunLoopError) -> SendWithdrawal? {
    guard !isForked else { throw .forked }
    let parcel = try Parcel(message)
    lock.lock()
    guard !isClosed else {
      lock.unlock()
      RunLoop.Port.explainClosed()
      throw .portInvalid
    }
    guard queue.count >= limit || !line.isEmpty else {
      try finishSend(parcel)
      return nil
    }
    let place = PlaceInLine(parcel, whenOver)
    line.append(place)
    waiting += 1
    lock.unlock()
    return { [self] in withdraw(place) }
  }

  private func withdraw(_ place: PlaceInLine) -> Bool {
    let hasLeft = lock.withLock {
      guard line.remove(place) else { return false }
      waiting -= 1
      return true
    }
    if hasLeft { place.clear() }
    return hasLeft
  }

  /// Queues a message and keeps its `sender`. Returns false if the queue is full, nil if it is closed.
  /// - Parameter charge: Released when the message leaves the queue. Nil only if the message has no descriptors.
  package func accept(_ message: RunLoop.Message, _ charge: (any MessageCharge)? = nil) -> Bool? {
    lock.lock()
    guard !isClosed, queue.count < limit else {
      defer { lock.unlock() }
      return isClosed ? nil : false
    }
    let wasEmpty = queue.count == 0
    if let charge {
      charges.append(charge, behind: queue.count)
      hasDescriptors = true
    }
    queue.append(message)
    held.store(queue.count, ordering: .releasing)
    let notified = wasEmpty ? memberships : OneOrMany()
    lock.unlock()
    notified.forEach { $0.loop.messageCame($0) }
    return true
  }

  /// Waits once. Call it with the lock held. The lock is held again on return, but not after a throw.
  @inline(never)
  private func waitForRoom(_ timeout: SendTimeout) throws(RunLoopError) {
    let deadline: Deadline
    switch timeout {
    case .none:
      lock.unlock()
      throw RunLoopError(queueLimit: limit)
    case .until(let moment): deadline = moment
    case .forever:
      if isServedHereOnly {
        lock.unlock()
        throw .wouldDeadlock(
          call: "send(_:timeout:)",
          "only this thread's loop serves the port, and its queue is full; pass a timeout, or use trySend(_:)")
      }
      deadline = .never
    }
    let seen = room.load()
    waiting += 1
    lock.unlock()
    let hasChanged = room.wait(while: seen, deadline, for: "room in the queue of a port (send)")
    lock.lock()
    waiting -= 1
    if !hasChanged, !isClosed, queue.count >= limit {
      lock.unlock()
      throw .timedOut
    }
  }

  /// True if only the calling thread's loop serves the port, so that no room comes while that thread waits. Under the
  /// lock.
  private var isServedHereOnly: Bool {
    memberships.first != nil && memberships.allSatisfy { $0.loop.isCurrent }
  }

  // MARK: Receiving

  /// Removes the first message; nil if there is none.
  func dequeue() -> RunLoop.Message? {
    lock.lock()
    let message = queue.takeFirst()
    queue.trim()
    held.store(queue.count, ordering: .releasing)
    let charge = charges.isEmpty || message == nil ? nil : charges.removeFirst()
    let mayHaveDescriptors = hasDescriptors
    if queue.count == 0 { hasDescriptors = false }
    // Before `unlock`, because a sender that comes now must not take the room of one that waits.
    let made = waiting > 0 ? makeRoom() : nil
    lock.unlock()
    withExtendedLifetime(charge) {}
    if mayHaveDescriptors { message?.revealDescriptors() }
    if let made { notifyWaiters(of: made) }
    return message
  }

  /// Closes the mailbox, so that later sends throw. Queued messages are discarded: their requests throw, and their
  /// descriptors are closed. Call it with no lock held; only the first call has an effect.
  func close() {
    guard !isForked else { return }
    lock.lock()
    guard !isClosed else { return lock.unlock() }
    isClosed = true
    var dropped = Row<RunLoop.Message>()
    swap(&dropped, &queue)
    held.store(0, ordering: .releasing)
    var released = QueuedCharges()
    swap(&released, &charges)
    let isAwaited = waiting > 0
    let places = line.removeAll()
    waiting -= places.count
    lock.unlock()
    drop(released)
    if isAwaited { thereIsRoom() }
    drop(dropped)
    for place in places { place.end(.failure(RunLoopError.portInvalid)) }
    transport?.mailboxHasEnded(self)
    invalidation.invalidate()
  }

  private func thereIsRoom() { notifyWaiters(of: lock.withLock { makeRoom() }) }

  /// The senders that waited for room, and what each gets.
  private struct RoomMade {
    let memberships: OneOrMany<PortMembership>
    let woken: [any RoomWaiter]
    let admitted: [(PlaceInLine, Result<Void, any Error>)]
  }

  /// Under the lock.
  @inline(never)
  private func makeRoom() -> RoomMade {
    let isLineAlone = waiting == line.count
    let woken = stalled
    stalled = []
    waiting -= woken.count
    let wasEmpty = queue.count == 0
    let admitted = line.isEmpty ? [] : admit(all: isLineAlone)
    held.store(queue.count, ordering: .releasing)
    return RoomMade(
      memberships: wasEmpty && queue.count > 0 ? memberships : OneOrMany(), woken: woken, admitted: admitted)
  }

  /// Call it with no lock held, after `makeRoom` has decided who gets the room.
  @inline(never)
  private func notifyWaiters(of made: RoomMade) {
    room.advance()
    made.memberships.forEach { $0.loop.messageCame($0) }
    for waiter in made.woken { waiter.wake(from: self) }
    for (place, result) in made.admitted { place.end(result) }
  }

  /// Moves the first messages in line into the queue. If only tasks wait, it moves as many as there is room for. If
  /// threads or connections wait too, it moves one, and only every other time. Under the lock.
  private func admit(all isLineAlone: Bool) -> [(PlaceInLine, Result<Void, any Error>)] {
    if !isLineAlone {
      lineHasPassed.toggle()
      if lineHasPassed { return [] }
    }
    var over: [(PlaceInLine, Result<Void, any Error>)] = []
    while queue.count < limit, let place = line.removeFirst() {
      waiting -= 1
      switch place.takeMessage() {
      case .failure(let error): over.append((place, .failure(error)))
      case .success(let message):
        hasDescriptors = hasDescriptors || place.hasDescriptors
        queue.append(message)
        over.append((place, .success(())))
        if !isLineAlone { return over }
      }
    }
    return over
  }

  private func drop(_ charges: consuming QueuedCharges) {}

  private func drop(_ messages: consuming Row<RunLoop.Message>) {}

  // MARK: Modes. Under the loop's lock.

  /// Adds a membership. Returns true if the queue has messages.
  package func join(_ membership: PortMembership) -> Bool {
    lock.withLock {
      // The thread of the loop that joins may be waiting for room that now only its own loop can make, so it must check
      // again.
      if waiting > 0 { room.advance() }
      memberships.append(membership)
      return queue.count > 0
    }
  }

  func leave(_ mode: ModePointer) -> PortMembership? {
    lock.withLock {
      // The loop of a waiting thread may be the only one left that serves the port, so the thread must check again.
      if waiting > 0 { room.advance() }
      return memberships.remove { $0.mode == mode }
    }
  }

  // MARK: Other processes

  package var transport: (any PortTransport)? { hasTransport.load(ordering: .acquiring) ? madeTransport : nil }

  package func transport(orMake make: () -> any PortTransport) -> any PortTransport {
    lock.withLock {
      if let made = madeTransport { return made }
      let made = make()
      madeTransport = made
      hooks = RunLoop.Source.HeldHooks.make(made.makeHooks())
      hasTransport.store(true, ordering: .releasing)
      return made
    }
  }

  /// The modes that have the port, with their loops.
  package var places: [(loop: RunLoop, mode: ModePointer)] {
    lock.withLock { isClosed ? [] : memberships.map { ($0.loop, $0.mode) } }
  }

  package func membership(in mode: ModePointer) -> PortMembership? {
    lock.lock()
    defer { lock.unlock() }
    return memberships.first { $0.mode == mode }
  }

  /// Registers a waiter for room. Returns false if there is room already, or if the port has ended.
  package func stall(_ waiter: any RoomWaiter) -> Bool {
    lock.withLock {
      guard !isClosed, queue.count >= limit else { return false }
      stalled.append(waiter)
      waiting += 1
      return true
    }
  }
}
