internal import Synchronization

/// The messages of a port that wait for delivery, in a bounded queue. Send rights hold the mailbox, not the port.
///
/// Its lock is a leaf: taken under a loop's and an item's lock, never around one. A sender that finds the queue empty
/// marks the port ready in all modes that hold it, each under its loop's lock; a loop that finds it empty takes the
/// mark away under both locks. So a port with messages is marked, or about to be.
package final class Mailbox: Destination, @unchecked Sendable {
  private let lock = Lock()
  let limit: Int
  @exclusivity(unchecked) private var queue = Row<RunLoop.Message>()
  /// Of messages that wait.
  @exclusivity(unchecked) private var charges = QueuedCharges()
  /// A message with descriptors may be among them.
  @exclusivity(unchecked) private var hasDescriptors = false
  @exclusivity(unchecked) private var memberships = OneOrMany<PortMembership>()
  @exclusivity(unchecked) private var isClosed = false
  /// Senders that sleep, or are about to.
  @exclusivity(unchecked) private var waiting = 0
  /// Changes when there may be room for senders that wait.
  private let room = FutexWord()
  /// Of messages; read without the lock.
  private let held = Atomic<Int>(0)
  private let invalidation = Invalidation()
  private let lost = Atomic<Int>(0)
  /// To other processes; made with the first, and kept. Set under the lock.
  private var madeTransport: (any PortTransport)?
  private(set) var hooks: RunLoop.Source.HeldHooks?
  private let hasTransport = Atomic<Bool>(false)
  /// Those that have something for the port and wait for room; counted in `waiting`.
  private var stalled: [any RoomWaiter] = []
  /// Messages of tasks that wait for room; counted in `waiting`.
  @exclusivity(unchecked) private var line = RoomLine()
  /// The last room was left to threads and connections that wait besides the line.
  private var lineHasPassed = false

  init(limit: Int) { self.limit = max(limit, 1) }

  package var count: Int { held.load(ordering: .acquiring) }

  /// Threads, connections and tasks that wait for room.
  package var waitingCount: Int { lock.withLock { waiting } }

  /// Answers of the port's body that could not be delivered.
  var lostReplies: Int { lost.load(ordering: .relaxed) }

  func replyWasLost() { lost.add(1, ordering: .relaxed) }

  private var isForked: Bool { lock.forkGeneration != Kernel.forkGeneration }

  package var isValid: Bool { !isForked && !invalidation.isOver }

  package var mailbox: Mailbox? { self }

  /// A peer watch that connects first and then finds it open learns of its end.
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
      throw .portInvalid
    }
    try finishSend(parcel)
  }

  /// With the lock held, which it gives up, and with room.
  @inline(__always)
  private func finishSend(_ parcel: borrowing Parcel) throws(RunLoopError) {
    do throws(RunLoopError) {
      try parcel.moveDescriptors()
    } catch {
      let isAwaited = waiting > 0
      lock.unlock()
      if isAwaited { thereIsRoom() }  // it has not used the room for which it may have been woken
      throw error
    }
    if parcel.descriptorCount > 0 { hasDescriptors = true }
    let wasEmpty = queue.count == 0
    queue.append(parcel.message)
    held.store(queue.count, ordering: .releasing)
    guard wasEmpty, let first = memberships.first else { return lock.unlock() }
    let others = memberships.others
    lock.unlock()
    first.host.messageCame(first)
    if let others { for membership in others { membership.host.messageCame(membership) } }
  }

  /// At once if there is room and no task waits for it; else the message waits in line.
  package func send(_ message: RunLoop.Message, whenOver: @escaping SendEnd) throws(RunLoopError) -> SendWithdrawal? {
    guard !isForked else { throw .forked }
    let parcel = try Parcel(message)
    lock.lock()
    guard !isClosed else {
      lock.unlock()
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

  /// As a message that came from elsewhere, credentials included: false if the queue is full, nil if it is closed.
  /// - Parameter charge: For what waits with it. Without one it has no descriptors.
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
    notified.forEach { $0.host.messageCame($0) }
    return true
  }

  /// With the lock held, which it gives up meanwhile; not held any more if it throws.
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

  /// True if the loop of the calling thread serves the port: it takes no messages out while the thread waits. Under the
  /// lock.
  private var isServedHereOnly: Bool {
    memberships.first != nil && memberships.allSatisfy { $0.host.isCurrent }
  }

  // MARK: Receiving

  /// The first message; nil if there is none, or the port is gone.
  func dequeue() -> RunLoop.Message? {
    lock.lock()
    let message = queue.takeFirst()
    queue.trim()
    held.store(queue.count, ordering: .releasing)
    let charge = charges.isEmpty || message == nil ? nil : charges.removeFirst()
    let mayHaveDescriptors = hasDescriptors
    if queue.count == 0 { hasDescriptors = false }
    // At once: whoever comes now must not take the room whose turn it is.
    let made = waiting > 0 ? makeRoom() : nil
    lock.unlock()
    withExtendedLifetime(charge) {}
    if mayHaveDescriptors { message?.revealDescriptors() }
    if let made { notifyWaiters(of: made) }
    return message
  }

  /// Closes the mailbox: sends throw from now on, and messages that wait are discarded. Their requests throw, and their
  /// descriptors are closed. With no lock held; once.
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

  /// What has become of those that wait for room.
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

  /// With no lock held: whose turn it is has been decided.
  @inline(never)
  private func notifyWaiters(of made: RoomMade) {
    room.advance()
    made.memberships.forEach { $0.host.messageCame($0) }
    for waiter in made.woken { waiter.wake(from: self) }
    for (place, result) in made.admitted { place.end(result) }
  }

  /// The first in line come in: as many as there is room for, or, beside others that wait, one every other time. Who
  /// waits otherwise takes what is left. Under the lock.
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

  /// True if messages wait already.
  package func join(_ membership: PortMembership) -> Bool {
    lock.withLock {
      // A thread of this loop that waits for room, while nothing served the port, is now the only one to make some.
      if waiting > 0 { room.advance() }
      memberships.append(membership)
      return queue.count > 0
    }
  }

  func leave(_ mode: ModePointer) -> PortMembership? {
    lock.withLock {
      // The thread that waits for room may be the only one that can make some.
      if waiting > 0 { room.advance() }
      return memberships.remove { $0.mode == mode }
    }
  }

  // MARK: Other processes

  @inline(__always)
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

  /// The modes of the port, and their loops.
  package var places: [(host: RunLoop, mode: ModePointer)] {
    lock.withLock { isClosed ? [] : memberships.map { ($0.host, $0.mode) } }
  }

  package func membership(in mode: ModePointer) -> PortMembership? {
    lock.lock()
    defer { lock.unlock() }
    return memberships.first { $0.mode == mode }
  }

  /// False if there is room after all, or the port is gone; else `wake` is called when there is.
  package func stall(_ waiter: any RoomWaiter) -> Bool {
    lock.withLock {
      guard !isClosed, queue.count >= limit else { return false }
      stalled.append(waiter)
      waiting += 1
      return true
    }
  }
}
