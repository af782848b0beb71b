// Compiled with the sources of RunLoopKit as one module, for the scheduler (kit_scheduled.c): lock, record of callouts, stop
// word, membership and blocks, each by the functions that the loop itself calls.
internal import CRunLoopCore
internal import Glibc
internal import Synchronization

@_silgen_name("sched_touch") private func touch(_ address: UnsafeRawPointer, _ writes: Bool)
@_silgen_name("sched_yield_here") private func yieldHere()
@_silgen_name("sched_wait_readable") private func waitReadable(_ descriptor: Int32)
@_silgen_name("sched_fail") private func fail(_ reason: UnsafePointer<CChar>) -> Never

private func expect(_ condition: Bool, _ reason: StaticString) {
  guard !condition else { return }
  reason.withUTF8Buffer { buffer in buffer.withMemoryRebound(to: CChar.self) { fail($0.baseAddress!) } }
}

/// Data that no atomic access protects: what the code under test has to order.
nonisolated(unsafe) private let plain = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)
nonisolated(unsafe) private var kernel: Kernel!
nonisolated(unsafe) private var host: RunLoop!
nonisolated(unsafe) private var source: RunLoop.Source!
nonisolated(unsafe) private var box: LockBox!
private let calls = Atomic<Int>(0)
private let begun = Atomic<Bool>(false)

private final class LockBox: Sendable { let lock = Lock() }

@_cdecl("kit_install")
func install(_ table: UnsafePointer<rlc_kernel>) {
  kernel = Kernel(table.pointee)
  kernel.enter()
  host = RunLoop.current
}

/// The calling thread's loop, with the scheduler's waits.
private func ownLoop() -> RunLoop {
  kernel.enter()
  return RunLoop.current
}

// MARK: The lock

@_cdecl("kit_lock_begin")
func lockBegin() { box = LockBox() }

@_cdecl("kit_lock_thread")
func lockThread(_ thread: UInt32) {
  for _ in 0..<2 { box.lock.withLock { touch(plain, true) } }
}

// MARK: Removal with an answer

@_cdecl("kit_removal_begin")
func removalBegin() {
  calls.store(0, ordering: .relaxed)
  source = RunLoop.Source { _ in }
  try! host.add(source)
}

/// A callout, as observers and sources inside others are called.
private func callOut() { host.callouts.callOutNested(source, on: host) { touch(plain, true) } }

@_cdecl("kit_removal_wait_thread")
func removalWaitThread(_ thread: UInt32) {
  guard thread == 1 else { return callOut() }
  try! source.invalidateAndWait()
  touch(plain, true)
}

@_cdecl("kit_removal_final_thread")
func removalFinalThread(_ thread: UInt32) {
  guard thread == 1 else { return callOut() }
  source.invalidate {
    touch(plain, true)
    calls.add(1, ordering: .relaxed)
  }
}

@_cdecl("kit_removal_end")
func removalEnd() {
  // An item that left just when its callout ended may still be noted: until the end of the next callout.
  host.callouts.begin(source)
  host.callouts.end(on: host)
  expect(host.callouts.attention.load(ordering: .relaxed) == CalloutRecord.attentionAtFirst, "attention is left")
  expect(!host.contains(source), "it is a member after its removal")
}

@_cdecl("kit_removal_final_end")
func removalFinalEnd() {
  expect(calls.load(ordering: .relaxed) == 1, "the last call was not made once")
  removalEnd()
}

nonisolated(unsafe) private var other: RunLoop.Source!

nonisolated(unsafe) private var remover: pthread_t = 0

/// What the closure of an item holds that belongs to the loop.
private final class Owned: Sendable {
  deinit {
    expect(pthread_self() != remover, "another thread has released what belongs to the loop")
    calls.add(1, ordering: .relaxed)
  }
}

@_cdecl("kit_handed_over_begin")
func handedOverBegin() {
  calls.store(0, ordering: .relaxed)
  let owned = Owned()
  other = RunLoop.Source { _ in }
  source = RunLoop.Source(order: 0, hooks: RunLoop.Source.Hooks(), onlyLoop: host) { _ in
    withExtendedLifetime(owned) {}
  }
  for item in [source!, other!] { try! host.add(item) }
}

@_cdecl("kit_handed_over_thread")
func handedOverThread(_ thread: UInt32) {
  guard thread == 1 else { return host.callouts.callOutNested(other, on: host) {} }
  remover = pthread_self()
  source.invalidate()
}

@_cdecl("kit_handed_over_end")
func handedOverEnd() {
  remover = 0
  other.invalidate()
  removalEnd()
  expect(calls.load(ordering: .relaxed) == 1, "the closure was not released once")
}

/// The callout of `other` lies inside of that of `source`: its end takes the final call, and only the other end wakes who waits.
@_cdecl("kit_noted_begin")
func notedBegin() {
  removalBegin()
  other = RunLoop.Source { _ in }
  try! host.add(other)
}

@_cdecl("kit_noted_thread")
func notedThread(_ thread: UInt32) {
  switch thread {
  case 0:
    host.callouts.callOutNested(source, on: host) {
      host.callouts.callOutNested(other, on: host) { yieldHere() }
    }
  case 1:
    _ = host.callouts.wait(for: ObjectIdentifier(source), on: host, Deadline(nil))
  default:
    let call = FinalCall { calls.add(1, ordering: .relaxed) }
    host.callouts.announce(call, after: ObjectIdentifier(other), on: host)
    call.endAwaited()
  }
}

@_cdecl("kit_noted_end")
func notedEnd() {
  for item in [source!, other!] { item.invalidate() }
  removalFinalEnd()
}

// MARK: Adding against invalidation

@_cdecl("kit_adding_begin")
func addingBegin() { source = RunLoop.Source { _ in } }

@_cdecl("kit_adding_thread")
func addingThread(_ thread: UInt32) {
  if thread == 1 { source.invalidate() } else { _ = try? host.add(source) }
}

@_cdecl("kit_adding_end")
func addingEnd() { expect(!host.contains(source), "an invalid item is a member") }

nonisolated(unsafe) private var owning: RunLoop.FileDescriptorSource!
nonisolated(unsafe) private var ends: [Int32] = [0, 0]

@_cdecl("kit_owning_begin")
func owningBegin() {
  expect(pipe(&ends) == 0, "no pipe")
  owning = try! RunLoop.FileDescriptorSource(
    fileDescriptor: ends[0], interest: .readable, ownership: .closesWhenInvalidated
  ) { _, _ in }
}

@_cdecl("kit_owning_thread")
func owningThread(_ thread: UInt32) {
  if thread == 1 { owning.invalidate() } else { _ = try? host.add(owning) }
}

/// What closes a number twice is seen by `close` itself.
@_cdecl("kit_owning_end")
func owningEnd() {
  expect(!host.contains(owning), "an invalid item is a member")
  expect(fcntl(ends[0], F_GETFD) < 0, "what the item owned is open")
  close(ends[1])
}

// MARK: Background members

nonisolated(unsafe) private var background: [RunLoop.Item] = []
nonisolated(unsafe) private var emptyMode: ModePointer!

@_cdecl("kit_background_begin")
func backgroundBegin() {
  expect(pipe(&ends) == 0, "no pipe")
  background = [
    RunLoop.Source { _ in }, RunLoop.Timer(rearmable: .distantFuture) { _ in }, RunLoop.Port { _, _ in },
    try! RunLoop.FileDescriptorSource(fileDescriptor: ends[0], interest: .readable) { _, _ in },
  ]
  for item in background { item.keepsRunning = false }
  emptyMode = host.lock.withLock { host.state.makeMode("background") }
}

/// The loop's thread looks whether its run is finished, as items enter and leave that do not count.
@_cdecl("kit_background_thread")
func backgroundThread(_ thread: UInt32) {
  guard thread == 1 else {
    for _ in background { expect(!emptyMode.counts.hasKeeping, "a background member keeps the run going") }
    return
  }
  for item in background {
    _ = try! host.add(item, to: "background")
    host.remove(item, from: "background")
  }
}

@_cdecl("kit_background_end")
func backgroundEnd() {
  expect(host.isEmpty(in: "background"), "the mode is not empty")
  background = []
  for end in ends { close(end) }
}

// MARK: A warning under a lock

@_cdecl("kit_warning_begin")
func warningBegin() {
  calls.store(0, ordering: .relaxed)
  RunLoop.diagnostics = RunLoop.Diagnostics()
}

/// A handler that is installed meanwhile is not called by the thread that warns.
@_cdecl("kit_warning_thread")
func warningThread(_ thread: UInt32) {
  guard thread == 1 else { return Diagnosis.warnLocked("of a scenario") }
  RunLoop.diagnostics.handler = { _, _ in calls.add(1, ordering: .relaxed) }
}

@_cdecl("kit_warning_end")
func warningEnd() {
  expect(calls.load(ordering: .relaxed) == 0, "a handler was called while a lock may be held")
  RunLoop.diagnostics = RunLoop.Diagnostics()
}

// MARK: The stop word

private final class StopWord: Sendable { let stops = Stops() }
nonisolated(unsafe) private var word: StopWord!
nonisolated(unsafe) private var isAsked = false
nonisolated(unsafe) private var endsInner = false

/// The outer run has begun, and ends after the threads.
@_cdecl("kit_stop_word_begin")
func stopWordBegin() {
  word = StopWord()
  _ = word.stops.begin(1)
}

@_cdecl("kit_stop_word_thread")
func stopWordThread(_ thread: UInt32) {
  guard thread == 0 else { return isAsked = word.stops.request() }
  let outer = word.stops.begin(2)
  endsInner = word.stops.end(outer)
}

/// A stop that meets the beginning or the end of the inner run is one of the two's.
@_cdecl("kit_stop_word_end")
func stopWordEnd() {
  expect(isAsked, "a stop found no run")
  expect(word.stops.end() != endsInner, "a stop is not one run's")
}

/// A resident thread has its loop, and is about to begin its first run.
@_cdecl("kit_first_stop_begin")
func firstStopBegin() {
  word = StopWord()
  word.stops.expectFirstRun()
}

@_cdecl("kit_first_stop_thread")
func firstStopThread(_ thread: UInt32) {
  guard thread == 0 else { return isAsked = word.stops.request() }
  _ = word.stops.begin(1)
  endsInner = word.stops.stopsRunThatBegins()
}

/// A stop that meets the beginning of the run was kept for it, or has reached it.
@_cdecl("kit_first_stop_end")
func firstStopEnd() {
  expect(isAsked, "a stop found no run")
  expect(word.stops.end() != endsInner, "a stop is not the first run's")
}

// MARK: The wake word

private final class MadeWord: @unchecked Sendable {
  let word = WakeWord(nil)
  let isPublished = Atomic<Bool>(false)
}

nonisolated(unsafe) private var made: MadeWord!
nonisolated(unsafe) private var isSeen = false

@_cdecl("kit_wake_word_begin")
func wakeWordBegin() { made = MadeWord() }

/// A run makes the port and looks for work once more. A waker that has published some looks for the port.
@_cdecl("kit_wake_word_thread")
func wakeWordThread(_ thread: UInt32) {
  guard thread == 0 else {
    made.isPublished.store(true, ordering: .relaxed)
    return made.word.signal()
  }
  _ = try! made.word.make()
  isSeen = made.isPublished.load(ordering: .relaxed)
}

@_cdecl("kit_wake_word_end")
func wakeWordEnd() {
  expect(isSeen || made.word.take() == .wake, "the waker has seen no port, nor the run what was published")
  made.word.end()
}

// MARK: Stops, wakes and blocks of a loop that runs

nonisolated(unsafe) private var running: RunLoop?

@_cdecl("kit_run_begin")
func runBegin() {
  running = nil
  calls.store(0, ordering: .relaxed)
  begun.store(false, ordering: .relaxed)
}

private func runUntilStopped() {
  let loop = ownLoop()
  let keeper = RunLoop.Source { _ in }
  try! loop.add(keeper)
  running = loop
  begun.store(true, ordering: .sequentiallyConsistent)
  expect((try? loop.run()) == .stopped, "the run was not stopped")
  keeper.invalidate()
}

private func runningLoop() -> RunLoop {
  while !begun.load(ordering: .sequentiallyConsistent) { yieldHere() }
  return running!
}

@_cdecl("kit_stop_thread")
func stopThread(_ thread: UInt32) {
  guard thread > 0 else { return runUntilStopped() }
  let loop = runningLoop()
  if thread == 2 { return loop.wakeUp() }
  while loop.currentMode == nil { yieldHere() }
  loop.stop()
}

@_cdecl("kit_perform_thread")
func performThread(_ thread: UInt32) {
  guard thread > 0 else { return runUntilStopped() }
  let loop = runningLoop()
  try! loop.perform {
    if calls.add(1, ordering: .relaxed).newValue == 2 { loop.stop() }
  }
}

/// A block whose time is over at once is withdrawn, or has begun and is waited for.
@_cdecl("kit_perform_and_wait_thread")
func performAndWaitThread(_ thread: UInt32) {
  guard thread > 0 else { return runUntilStopped() }
  let loop = runningLoop()
  do {
    let answer = try loop.performAndWait(timeout: .zero) {
      yieldHere()
      return calls.add(1, ordering: .relaxed).newValue
    }
    expect(answer == 1, "a block that has begun was not waited for")
  } catch {
    expect(error as? RunLoopError == .timedOut, "another error")
    expect(calls.load(ordering: .relaxed) == 0, "a block that was withdrawn has run")
  }
  try! loop.perform { loop.stop() }  // the run may not have begun
}

/// A run inside each pass of the outer one, before its wait, takes the wakes that were meant for the outer one, and owes them.
/// Ended without a stop: the inner run takes its interrupt as well, and owes none (decision 0003).
private func runAroundOthers() {
  let loop = ownLoop()
  let inner = RunLoop.Source { _ in }
  source = RunLoop.Source { _ in }
  try! loop.add(source)
  try! loop.add(inner, to: "inner")
  let nesting = RunLoop.Observer(.beforeWaiting) { _, _ in
    expect((try? loop.run(in: "inner", for: .zero)) == .timedOut, "the inner run was not over at once")
  }
  try! loop.add(nesting)
  running = loop
  begun.store(true, ordering: .sequentiallyConsistent)
  expect((try? loop.run()) == .finished, "the outer run was not finished")
  inner.invalidate()
  nesting.invalidate()
}

@_cdecl("kit_nested_thread")
func nestedThread(_ thread: UInt32) {
  guard thread > 0 else { return runAroundOthers() }
  let loop = runningLoop()
  try! loop.perform {
    guard calls.add(1, ordering: .relaxed).newValue == 2 else { return }
    source.invalidate()
    loop.wakeUp()
  }
}

/// A stop that meets the beginning of the inner run is one of the two's.
private func runAroundOne() {
  let loop = ownLoop()
  let keeper = RunLoop.Source { _ in }
  source = RunLoop.Source { _ in source.invalidate() }
  try! loop.add(keeper)
  try! loop.add(source, to: "inner")
  let nesting = RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in
    _ = try? loop.run(in: "inner", for: .zero)  // makes what the next one finds, so that its beginning is soon met
    begun.store(true, ordering: .sequentiallyConsistent)
    if (try? loop.run(in: "inner")) == .stopped { loop.stop() }
    loop.wakeUp()  // the inner run may have taken the interrupt of the outer one's stop (decision 0003)
  }
  try! loop.add(nesting)
  running = loop
  expect((try? loop.run()) == .stopped, "the outer run was not stopped")
  for item in [keeper, source, nesting] as [RunLoop.Item] { item.invalidate() }
}

@_cdecl("kit_stop_nested_thread")
func stopNestedThread(_ thread: UInt32) {
  guard thread > 0 else { return runAroundOne() }
  let loop = runningLoop()
  loop.stop()
  source.signal()  // ends the inner run if it was not stopped
  loop.wakeUp()
}

/// Whoever sees the outer mode after the inner run stops the outer one.
private func runBehindOne() {
  let loop = ownLoop()
  let keeper = RunLoop.Source { _ in }
  let inner = RunLoop.Source { _ in }
  try! loop.add(keeper)
  try! loop.add(inner, to: "inner")
  let nesting = RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in
    let exit = RunLoop.Observer(.exit, repeats: false) { _, _ in begun.store(true, ordering: .sequentiallyConsistent) }
    try! loop.add(exit, to: "inner")
    expect((try? loop.run(in: "inner", for: .zero)) == .timedOut, "the inner run was not over at once")
    loop.wakeUp()  // the inner run may have taken the interrupt of the outer one's stop (decision 0003)
  }
  try! loop.add(nesting)
  running = loop
  expect((try? loop.run()) == .stopped, "the outer run was not stopped")
  for item in [keeper, inner, nesting] as [RunLoop.Item] { item.invalidate() }
}

@_cdecl("kit_stop_behind_one_thread")
func stopBehindOneThread(_ thread: UInt32) {
  guard thread > 0 else { return runBehindOne() }
  let loop = runningLoop()
  while loop.currentMode != .default { yieldHere() }
  loop.stop()
}

/// The run may have counted an item that was invalid as it entered when the wake came that should have ended the run.
@_cdecl("kit_adding_woken_thread")
func addingWokenThread(_ thread: UInt32) {
  guard thread > 0 else { return runUntilFinished() }
  let loop = runningLoop()
  if thread == 1 {
    _ = try? loop.add(other)
  } else {
    other.invalidate()
    source.invalidate()
    loop.wakeUp()
  }
}

@_cdecl("kit_adding_woken_begin")
func addingWokenBegin() {
  runBegin()
  other = RunLoop.Source { _ in }
}

private func runUntilFinished() {
  let loop = ownLoop()
  source = RunLoop.Source { _ in }
  try! loop.add(source)
  running = loop
  begun.store(true, ordering: .sequentiallyConsistent)
  expect((try? loop.run()) == .finished, "the run was not finished")
}

// MARK: An executor that two threads ask for

/// One of them makes it, and the other one may have its job there before it is a member of the loop.
@_cdecl("kit_executor_thread")
func executorThread(_ thread: UInt32) {
  guard thread > 0 else { return runUntilStopped() }
  let loop = runningLoop()
  Task(executorPreference: loop.executor) {
    if calls.add(1, ordering: .relaxed).newValue == 2 { loop.stop() }
  }
}

// MARK: Inside a host's loop

/// The host sleeps whenever `prepareToWait` says so, until the descriptor is readable.
private func hostUntilDone() {
  let loop = ownLoop()
  let keeper = RunLoop.Source { _ in }
  try! loop.add(keeper)
  running = loop
  let descriptor = try! loop.hostDescriptor().fileDescriptor
  begun.store(true, ordering: .sequentiallyConsistent)
  while calls.load(ordering: .relaxed) < 2 {
    if try! !loop.prepareToWait() { waitReadable(descriptor) }
    _ = try! loop.runPendingWork()
  }
  keeper.invalidate()
}

@_cdecl("kit_host_thread")
func hostThread(_ thread: UInt32) {
  guard thread > 0 else { return hostUntilDone() }
  let loop = runningLoop()
  try! loop.perform { calls.add(1, ordering: .relaxed) }
}
