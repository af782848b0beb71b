#if CUSTOM_MAIN_EXECUTORS
  @_spi(ExperimentalCustomExecutors) import _Concurrency
  import RunLoopKit
  import RunLoopMainExecutor
  import Synchronization

  /// A host in this process: a wake is a semaphore, so that nothing polls.
  private final class Host: Sendable {
    private let state = Mutex<Int>(0)
    let bell = RunLoop.Source { _ in RunLoop.main.stop() }

    var wakes: Int { state.withLock { $0 } }

    func wake() {
      state.withLock { $0 += 1 }
      bell.signal()
      RunLoop.main.wakeUp()
    }

    /// Waits for a wake: the main loop is the host's own here.
    func wait() throws { try RunLoop.main.runUntilStopped() }
  }

  extension MainExecutorCases {
    private static func host() throws -> Host {
      let host = Host()
      try RunLoop.main.add(host.bell)
      try MainActorExecutor.install(hostedBy: { host.wake() })
      return host
    }

    /// What is enqueued while `drain` runs waits for the next one, by priority; one wake for each time.
    static func hosted() throws {
      let host = try host()
      let log = Log()
      try expect(try MainActorExecutor.drain() == 0)
      Task.immediate { @MainActor in log.append("immediate \(MainActorExecutor.isIsolated)") }
      for (name, priority) in [("low", TaskPriority.low), ("high", .high), ("low", .low)] {
        Task(priority: priority) { @MainActor in
          log.append(name)
          MainActor.assertIsolated()
          Task { @MainActor in log.append("later") }
        }
      }
      try expect(host.wakes == 1, "\(host.wakes)")
      try expect(log.all == ["immediate true"], "\(log.all)")
      let first = try MainActorExecutor.drain()
      try expect(first == 3, "\(first)")
      try expect(log.all == ["immediate true", "high", "low", "low"], "\(log.all)")
      try expect(host.wakes == 2, "\(host.wakes)")
      try expect(try MainActorExecutor.drain() == 3)
      try expect(try MainActorExecutor.drain() == 0)
      try expect(log.all.count == 7 && host.wakes == 2)
      // Sleeps and hops: the host waits for each wake.
      Task { @MainActor in
        try await Task.sleep(for: .milliseconds(2))
        log.append("slept \(RunLoop.main.isCurrent)")
        log.append("elsewhere \(await elsewhere())")
        log.append("end \(RunLoop.main.isCurrent)")
      }
      while log.all.last != "end true" {
        try host.wait()
        try MainActorExecutor.drain()
      }
      try expect(log.all.suffix(3) == ["slept true", "elsewhere false", "end true"], "\(log.all)")
    }

    static func hostedErrors() throws {
      let host = try host()
      try expect(.mainActorHosted) { try MainActorExecutor.run() }
      try expect(.mainActorHosted) { try MainActorExecutor.run(until: true) }
      // As the runtime does for an async main.
      try expect(.mainActorHosted) { try MainActor.executor.run() }
      try expect(.mainActorHosted) { try MainActor.executor.runUntil { true } }
      try expect(.mainExecutorInstalled) { try MainActorExecutor.install() }
      // It would wait for ever: no run loop runs the main actor's jobs.
      try expect(.wouldDeadlock) { _ = try RunLoop.main.run { @MainActor in true } }
      try expect(host.wakes == 0)
      // A run of the main loop is not the main actor's.
      let log = Log()
      try stopOneByOne(["main actor", "runtime", "loop"], log)
      try RunLoop.main.runUntilStopped()
      try expect(log.all == ["main actor", "runtime", "loop"], "\(log.all)")
    }

    /// Each in a pass of its own.
    private static func stopOneByOne(_ names: [String], _ log: Log) throws {
      guard let name = names.first else { return }
      let timer = RunLoop.Timer(fireDate: .now) { _ in
        log.append(name)
        switch name {
        case "main actor": MainActorExecutor.stop()
        case "runtime": MainActor.executor.stop()
        default: RunLoop.main.stop()
        }
        try? stopOneByOne(Array(names.dropFirst()), log)
      }
      try RunLoop.main.add(timer)
    }

    /// One call takes all that wait, by priority and in the order of their coming, and the host is told once.
    static func moreJobsThanAPassOfALoop() throws {
      let host = try host()
      let (log, each) = (Log(), RunLoop.Executor.jobsPerPass * 2)
      for number in 0..<each * 2 {
        let (name, priority) = number % 2 == 0 ? ("low", TaskPriority.low) : ("high", .high)
        Task(priority: priority) { @MainActor in log.append("\(name) \(number)") }
      }
      try expect(host.wakes == 1, "\(host.wakes)")
      let count = try MainActorExecutor.drain()
      try expect(count == each * 2, "\(count)")
      let numbers = 0..<each
      try expect(log.all == numbers.map { "high \(2 * $0 + 1)" } + numbers.map { "low \(2 * $0)" })
      try expect(try MainActorExecutor.drain() == 0)
      try expect(host.wakes == 1, "\(host.wakes)")
    }

    /// A job runs the host's loop, which drains: no other job runs inside of it, and the host is told again.
    static func aDialogOfTheHost() throws {
      let host = try host()
      let log = Log()
      Task { @MainActor in
        Task { @MainActor in log.append("other") }
        log.append("nested \(drainInJob())")
      }
      try expect(try MainActorExecutor.drain() == 1)
      try expect(log.all == ["nested 0"], "\(log.all)")
      try expect(host.wakes == 3, "\(host.wakes)")
      try expect(try MainActorExecutor.drain() == 1)
      try expect(log.all == ["nested 0", "other"])
      try expect(host.wakes == 3)
    }

    /// The refusal counts for the call around it alone: later calls that leave jobs tell the host once.
    static func aDrainAfterADialog() throws {
      let host = try host()
      Task { @MainActor in _ = drainInJob() }
      try expect(try MainActorExecutor.drain() == 1)
      try expect(host.wakes == 1, "no job is left, and the host is told: \(host.wakes)")
      for round in 1...3 {
        let before = host.wakes
        Task { @MainActor in Task { @MainActor in } }
        try expect(host.wakes == before + 1)
        try expect(try MainActorExecutor.drain() == 1)
        try expect(host.wakes == before + 2, "round \(round): \(host.wakes - before)")
        try expect(try MainActorExecutor.drain() == 1)
        try expect(host.wakes == before + 2, "round \(round): \(host.wakes - before)")
      }
    }

    /// Outside of `drain`, on the main thread: the host's own callbacks.
    static func aCallbackOfTheHost() throws {
      _ = try host()
      try expect(MainActorExecutor.isInstalled && MainActorExecutor.isIsolated)
      let (log, executor) = (Log(), MainActor.shared.unownedExecutor.asSerialExecutor())
      MainActor.assumeIsolated { log.append("before") }
      try expect(executor?.isIsolatingCurrentContext() == true)
      executor?.checkIsolated()
      let thread = RunLoop.Thread(name: "other")
      try thread.start()
      try thread.loop?.performAndWait { try expect(executor?.isIsolatingCurrentContext() == false) }
      thread.stop()
      try thread.join()
      Task { @MainActor in log.append("job") }
      try expect(try MainActorExecutor.drain() == 1)
      MainActor.assumeIsolated { log.append("after") }
      MainActor.assertIsolated()
      try expect(log.all == ["before", "job", "after"], "\(log.all)")
    }

    /// It ends the process. Older runtimes ask so, and programs may.
    static func aCheckOnAnotherThread() throws {
      _ = try host()
      let (executor, thread) = (MainActor.shared.unownedExecutor.asSerialExecutor(), RunLoop.Thread(name: "other"))
      try thread.start()
      try thread.loop?.performAndWait { executor?.checkIsolated() }
    }

    /// No lock is held in it: another thread enqueues meanwhile, and it enqueues itself. The thread that makes it needed
    /// calls it.
    static func aWakeThatMakesATask() throws {
      let (log, count) = (Log(), Count())
      let other = RunLoop.Thread(name: "enqueues")
      try other.start()
      guard let loop = other.loop else { throw Failure(description: "no loop") }
      try MainActorExecutor.install(hostedBy: {
        log.append("wake \(RunLoop.main.isCurrent)")
        guard log.all.count == 1 else { return }
        Task { @MainActor in count.add() }
        try? loop.performAndWait { _ = Task { @MainActor in count.add() } }
      })
      Task { @MainActor in count.add() }
      try expect(log.all == ["wake true"], "\(log.all)")
      try expect(try MainActorExecutor.drain() == 3)
      try expect(count.value == 3)
      try loop.performAndWait { _ = Task { @MainActor in count.add() } }
      try expect(log.all == ["wake true", "wake false"], "\(log.all)")
      try expect(try MainActorExecutor.drain() == 1)
      other.stop()
      try other.join()
    }

    private static func drainInJob() -> Int { (try? MainActorExecutor.drain()) ?? -1 }

    /// A job of the main actor comes while a run of the main loop sleeps that awaits it: the host alone is told, and
    /// after a second the run says so; also if another run was nested in it and has ended.
    static func unserved(afterANestedRun: Bool = false) throws {
      try MainActorExecutor.install(hostedBy: {})
      let said = Log()
      @Sendable func drain() { said.append("drained \((try? MainActorExecutor.drain()) ?? -1)") }
      RunLoop.diagnostics.handler = { _, text in
        said.append(text)
        drain()
      }
      let late = RunLoop.Timer(after: .seconds(30)) { _ in
        said.append("late")
        drain()
      }
      try RunLoop.main.add(late)
      let isAlone = Flag()
      let nests = RunLoop.Timer(fireDate: .now) { _ in
        do {
          if afterANestedRun { try RunLoop.main.run(in: "nested") {} }
        } catch { said.append("\(error)") }
        isAlone.raise()
      }
      try RunLoop.main.add(nests)
      try expect(try RunLoop.main.run { await Task.detached { await whenTheLoopSleeps(isAlone) }.value })
      late.invalidate()
      try expect(said.all.count == 2 && said.all[0].contains(aboutJobs) && said.all[1] == "drained 1", "\(said.all)")
    }

    private static let aboutJobs = "for a second jobs of the main actor have waited"

    /// A job of the main actor makes the run, inside of `drain`: what the run may await waits for the end of that.
    static func unservedInAJob() throws {
      try MainActorExecutor.install(hostedBy: {})
      let said = Log()
      RunLoop.diagnostics.handler = { _, text in
        said.append(text)
        RunLoop.main.stop()
      }
      let late = RunLoop.Timer(after: .seconds(30)) { _ in
        said.append("late")
        RunLoop.main.stop()
      }
      try RunLoop.main.add(late)
      Task { @MainActor in runUntilAStop(said) }
      try expect(try MainActorExecutor.drain() == 1)
      late.invalidate()
      try expect(said.all.count == 2 && said.all[0].contains(aboutJobs) && said.all[1] == "ended", "\(said.all)")
      try expect(try MainActorExecutor.drain() == 1)
      try expect(said.all.last == "job", "\(said.all)")
    }

    private static func runUntilAStop(_ said: Log) {
      do {
        try RunLoop.main.run {
          Task { @MainActor in said.append("job") }
          // The stop cancels it.
          try? await Task.sleep(for: .seconds(60), clock: RunLoop.main.clock)
        }
        said.append("ended")
      } catch { said.append("\(error)") }
    }

    /// Of a task that does not prefer the loop.
    private static func whenTheLoopSleeps(_ isAlone: Flag) async -> Bool {
      while !isAlone.isUp || !RunLoop.main.isWaiting { await Task.yield() }
      return await here()
    }

    /// Jobs of many threads: none is lost, and no wake is.
    static func aCrowd() throws {
      let host = try host()
      let (tasks, each) = (16, 500)
      let count = Count()
      for _ in 0..<tasks { Task.detached { for _ in 0..<each { await count.add() } } }
      var drained = 0
      while count.value < tasks * each {
        try host.wait()
        drained += try MainActorExecutor.drain()
      }
      try expect(drained >= tasks * each)
    }
  }
#endif
