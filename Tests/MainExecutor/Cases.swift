import Glibc
import RunLoopKit
@_spi(RunLoopMainExecutor) import RunLoopMainExecutor
import Synchronization

#if CUSTOM_MAIN_EXECUTORS
  typealias MainActorExecutor = RunLoop.MainActorExecutor

  enum MainExecutorCases {
    static let isSupported = true

    static func run(_ name: String) throws {
      switch name {
      case "loop": try onTheLoop()
      case "runs": try runs()
      case "condition": try untilACondition()
      case "stopped-elsewhere": try aStopOfAnotherThread()
      case "empty": try anEmptyLoop()
      case "ended": try theMainThreadEnds()
      case "runtime": try runsOfTheRuntime()
      case "errors": try eachErrorIsItsOwn()
      case "task-first": try aTaskFirst()
      case "main-actor-first": try theMainActorFirst()
      case "twice": try twice()
      case "elsewhere": try onAnotherThread()
      case "none": try notInstalled()
      case "nested": try nested()
      case "body": try aBody()
      case "hosted": try hosted()
      case "hosted-errors": try hostedErrors()
      case "hosted-many": try moreJobsThanAPassOfALoop()
      case "hosted-dialog": try aDialogOfTheHost()
      case "hosted-after-dialog": try aDrainAfterADialog()
      case "hosted-callback": try aCallbackOfTheHost()
      case "hosted-check": try aCheckOnAnotherThread()
      case "hosted-wake": try aWakeThatMakesATask()
      case "crowd": try aCrowd()
      case "unserved": try unserved()
      case "unserved-nested": try unserved(afterANestedRun: true)
      case "unserved-in-job": try unservedInAJob()
      default: throw Failure(description: "no such case")
      }
    }

    /// The main actor is on the main loop, by the loop's own executor: sleeps, hops, callouts.
    private static func onTheLoop() throws {
      try MainActorExecutor.install()
      try expect(MainActorExecutor.isInstalled && MainActorExecutor.isIsolated)
      try expect(MainActor.shared.unownedExecutor.asSerialExecutor() === RunLoop.main.executor)
      let log = Log()
      try RunLoop.main.add(
        RunLoop.Timer(fireDate: .now) { _ in MainActor.assumeIsolated { log.append("callout") } })
      Task { @MainActor in
        log.append("main \(RunLoop.main.isCurrent)")
        try await Task.sleep(for: .milliseconds(2))
        log.append("slept \(RunLoop.main.isCurrent)")
        log.append("elsewhere \(await elsewhere())")
        log.append("back \(RunLoop.main.isCurrent)")
        MainActor.assertIsolated()
        RunLoop.main.executor.assertIsolated()
        MainActorExecutor.stop()
      }
      // The main queue's switch is not the main actor's.
      RunLoop.main.servesMainQueue = false
      try MainActorExecutor.run()
      let seen = log.all.filter { $0 != "callout" }
      try expect(seen == ["main true", "slept true", "elsewhere false", "back true"], "\(seen)")
      try expect(log.all.contains("callout"))
    }

    /// A stop ends the innermost run.
    private static func runs() throws {
      try MainActorExecutor.install()
      let log = Log()
      try RunLoop.main.add(
        RunLoop.Timer(fireDate: .now) { _ in
          log.append("outer")
          do {
            try RunLoop.main.add(
              RunLoop.Timer(fireDate: .now) { _ in
                log.append("inner")
                MainActorExecutor.stop()
              })
            try MainActorExecutor.run()
          } catch {
            log.append("\(error)")
          }
          log.append("inner ended")
          MainActorExecutor.stop()
        })
      try MainActorExecutor.run()
      try expect(log.all == ["outer", "inner", "inner ended"], "\(log.all)")
    }

    private static func untilACondition() throws {
      try MainActorExecutor.install()
      RunLoop.main.servesMainQueue = false
      let count = Count()
      for _ in 0..<3 { Task.detached { await count.add() } }
      try MainActorExecutor.run(until: count.value == 3)
      try expect(count.value == 3)
      try MainActorExecutor.run(until: true)
      try aConditionThatIsTrue()
      // Nothing stays behind that would keep a run going.
      try expect(RunLoop.main.isEmpty(in: .default))
      try expect(try RunLoop.main.run(for: .seconds(3600)) == .finished)
    }

    /// It is looked at before the first pass, and after each one.
    private static func aConditionThatIsTrue() throws {
      let passes = Log()
      let source = RunLoop.Source { source in
        passes.append("pass")
        source.signal()
      }
      try RunLoop.main.add(source)
      source.signal()
      try MainActorExecutor.run(until: passes.all.isEmpty)
      try expect(passes.all.isEmpty)
      try MainActorExecutor.run(until: passes.all.count >= 3)
      try expect(passes.all.count == 3, "\(passes.all)")
      source.invalidate()
    }

    private static func aStopOfAnotherThread() throws {
      try MainActorExecutor.install()
      RunLoop.main.servesMainQueue = false
      let late = RunLoop.Timer(after: .seconds(30)) { _ in fatalError("nobody has stopped the run") }
      try RunLoop.main.add(late)
      let thread = RunLoop.Thread(name: "stops")
      try thread.start()
      let log = Log()
      try thread.perform {
        while !RunLoop.main.isWaiting { sched_yield() }
        log.append("\(MainActorExecutor.isInstalled) \(MainActorExecutor.isIsolated)")
        do {
          try expect(.wrongThread) { try MainActorExecutor.run() }
          try expect(.wrongThread) { try MainActorExecutor.run(until: true) }
        } catch { log.append("\(error)") }
        MainActorExecutor.stop()
      }
      try MainActorExecutor.run()
      thread.stop()
      try thread.join()
      try expect(log.all == ["true false"], "\(log.all)")
    }

    /// Each run goes on until it is stopped, though the loop has no members.
    private static func anEmptyLoop() throws {
      try MainActorExecutor.install()
      RunLoop.main.servesMainQueue = false
      let (thread, log, executor) = (RunLoop.Thread(name: "stops"), Log(), RunLoop.main.executor)
      try thread.start()
      let runs: [() throws -> Void] = [
        { try MainActorExecutor.run() }, { try MainActorExecutor.run(until: false) }, { try executor.run() },
        { try executor.runUntil { false } },
      ]
      for run in runs {
        let isOver = Flag()
        try thread.perform {
          while !RunLoop.main.isWaiting && !isOver.isUp { sched_yield() }
          log.append(isOver.isUp ? "over" : "stops")
          MainActorExecutor.stop()
        }
        try run()
        isOver.raise()
        try thread.loop?.performAndWait {}
        try expect(RunLoop.main.isEmpty(in: .default))
      }
      thread.stop()
      try thread.join()
      try expect(log.all == Array(repeating: "stops", count: runs.count), "\(log.all)")
    }

    /// With it the main loop, of which each call of another thread says so.
    private static func theMainThreadEnds() throws {
      try MainActorExecutor.install()
      let thread = RunLoop.Thread(name: "remains")
      try thread.start()
      try thread.perform {
        while !RunLoop.main.hasEnded { sched_yield() }
        let executor = RunLoop.main.executor
        do {
          try expect(.loopEnded) { try MainActorExecutor.run() }
          try expect(.loopEnded) { try MainActorExecutor.run(until: true) }
          try expect(.loopEnded) { try executor.run() }
          try expect(.loopEnded) { try executor.runUntil { true } }
          try expect(.mainActorNotHosted) { try MainActorExecutor.drain() }
          MainActorExecutor.stop()
          print("ok")
        } catch {
          print("FAIL ended: \(error)")
        }
        exit(0)
      }
      pthread_exit(nil)
    }

    /// As `MainActor.executor` has them.
    private static func runsOfTheRuntime() throws {
      try MainActorExecutor.install()
      RunLoop.main.servesMainQueue = false
      let (executor, count) = (RunLoop.main.executor, Count())
      for _ in 0..<3 { Task.detached { await count.add() } }
      try executor.runUntil { count.value == 3 }
      try executor.runUntil { true }
      Task { @MainActor in
        count.add()
        executor.stop()
      }
      try executor.run()
      try expect(count.value == 4)
    }

    private static func eachErrorIsItsOwn() throws {
      let errors: [RunLoopError] = [
        .mainActorInUse, .mainExecutorInstalled, .mainExecutorNotInstalled, .mainActorHosted, .mainActorNotHosted,
      ]
      for (index, error) in errors.enumerated() {
        try expect(errors.firstIndex(of: error) == index, "\(error)")
        try expect(error.domain == .mainExecutor && error.errno == nil, "\(error)")
      }
      // The codes are in programs that were compiled.
      try expect(errors.map(\.code) == [1, 2, 3, 4, 5])
      // Each says what to do instead.
      let remedies = [
        "before the first task", "a process installs it once", "call install() first of all", "by drain()",
        "drain() is for install(hostedBy:)",
      ]
      for (error, remedy) in zip(errors, remedies) { try expect("\(error)".contains(remedy), "\(error)") }
      // Nor is it one of another module.
      let domain = RunLoopError.Domain.mainExecutor
      try expect(domain.rawValue == "RunLoopMainExecutor", "\(domain)")
      try expect(domain != .runLoop && domain != .system)
      let others: [RunLoopError] = [.wrongThread, .loopEnded, .forked, .wouldDeadlock, .timedOut, .invalidItem]
      try expect(errors.allSatisfy { !others.contains($0) })
    }

    private static func aTaskFirst() throws {
      Task.detached {}
      try expect(.mainActorInUse) { try MainActorExecutor.install() }
      try expect(.mainActorInUse) { try MainActorExecutor.install(hostedBy: {}) }
      try expect(!MainActorExecutor.isInstalled && !MainActorExecutor.isIsolated)
      try expect(.mainExecutorNotInstalled) { try MainActorExecutor.run() }
      // The main actor is as it was.
      let isThere = try RunLoop.main.run { await here() }
      try expect(isThere)
    }

    private static func theMainActorFirst() throws {
      MainActor.assumeIsolated {}
      try expect(.mainActorInUse) { try MainActorExecutor.install() }
      try expect(try RunLoop.main.run { await here() })
    }

    private static func twice() throws {
      try MainActorExecutor.install()
      try expect(.mainExecutorInstalled) { try MainActorExecutor.install() }
      try expect(.mainExecutorInstalled) { try MainActorExecutor.install(hostedBy: {}) }
      try expect(.mainActorNotHosted) { try MainActorExecutor.drain() }
      Task { @MainActor in MainActorExecutor.stop() }
      try MainActorExecutor.run()
    }

    private static func onAnotherThread() throws {
      let thread = RunLoop.Thread(name: "other")
      try thread.start()
      guard let loop = thread.loop else { throw Failure(description: "no loop") }
      try loop.performAndWait {
        try expect(.wrongThread) { try MainActorExecutor.install() }
        try expect(.wrongThread) { try MainActorExecutor.install(hostedBy: {}) }
      }
      try MainActorExecutor.install(hostedBy: {})
      try loop.performAndWait {
        try expect(.wrongThread) { try MainActorExecutor.drain() }
        try expect(!MainActorExecutor.isIsolated)
      }
      try expect(MainActorExecutor.isIsolated)
      thread.stop()
      try thread.join()
    }

    private static func notInstalled() throws {
      try expect(!MainActorExecutor.isInstalled && !MainActorExecutor.isIsolated)
      try expect(.mainExecutorNotInstalled) { try MainActorExecutor.run() }
      try expect(.mainExecutorNotInstalled) { try MainActorExecutor.run(until: true) }
      try expect(.mainExecutorNotInstalled) { try MainActorExecutor.drain() }
      MainActorExecutor.stop()
      // Asking has made nothing.
      try MainActorExecutor.install()
    }

    /// A run inside of a job of the main actor: no other job of it, but the loop's items.
    private static func nested() throws {
      try MainActorExecutor.install()
      let log = Log()
      Task { @MainActor in
        log.append("begins")
        Task { @MainActor in
          log.append("other")
          MainActorExecutor.stop()
        }
        innerRun(log)
        log.append("ends")
      }
      try MainActorExecutor.run()
      try expect(log.all == ["begins", "timer", "ends", "other"], "\(log.all)")
    }

    private static func innerRun(_ log: Log) {
      do {
        try RunLoop.main.add(
          RunLoop.Timer(after: .milliseconds(2)) { _ in
            log.append("timer")
            MainActorExecutor.stop()
          })
        try MainActorExecutor.run()
      } catch {
        log.append("\(error)")
      }
    }

    /// From a synchronous main to async code, on the main actor, with and without a switched-off main queue.
    private static func aBody() throws {
      try MainActorExecutor.install()
      RunLoop.main.servesMainQueue = false
      try expect(try RunLoop.main.run { await here() })
      try expect(try RunLoop.main.run { @MainActor in RunLoop.main.isCurrent })
      // A mode that the executor does not serve, and a call by a job of the main actor.
      try expect(.wouldDeadlock) { _ = try RunLoop.main.run(in: "private") { @MainActor in true } }
      let inJob = Log()
      Task { @MainActor in
        inJob.append(runInJob())
        MainActorExecutor.stop()
      }
      try MainActorExecutor.run()
      try expect(inJob.all == ["refused"], "\(inJob.all)")
    }

    private static func runInJob() -> String {
      do {
        return try RunLoop.main.run { @MainActor in "run" }
      } catch RunLoopError.wouldDeadlock {
        return "refused"
      } catch {
        return "\(error)"
      }
    }
  }

  final class Log: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func append(_ line: String) { lines.withLock { $0.append(line) } }
  }

  final class Flag: Sendable {
    private let state = Atomic<Bool>(false)
    var isUp: Bool { state.load(ordering: .acquiring) }
    func raise() { state.store(true, ordering: .releasing) }
  }

  final class Count: Sendable {
    private let number = Atomic<Int>(0)
    var value: Int { number.load(ordering: .acquiring) }
    @MainActor func add() { number.add(1, ordering: .releasing) }
  }

  @MainActor func here() async -> Bool { RunLoop.main.isCurrent }

  @concurrent func elsewhere() async -> Bool { RunLoop.main.isCurrent }

  extension RunLoop.Executor {
    func assertIsolated() { if isIsolatingCurrentContext() != true { fatalError("not isolated") } }
  }
#else
  enum MainExecutorCases {
    static let isSupported = false
    static func run(_ name: String) throws {}
  }
#endif
