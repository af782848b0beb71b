import Logging
import RunLoopKit
import RunLoopService
import ServiceLifecycle
import ServiceLifecycleTestKit
import Synchronization
import Testing

/// What came to pass, in order.
private final class Story: Sendable {
  private let lines = Mutex<[String]>([])

  func tell(_ line: String) { lines.withLock { $0.append(line) } }
  var told: [String] { lines.withLock { $0 } }
}

/// A service whose loop says when it takes work.
private struct Watched {
  let service: RunLoopService
  private let first: AsyncStream<Never>

  init(_ name: String, setUp: @escaping @Sendable (RunLoop) throws -> Void = { _ in }) {
    let (first, end) = AsyncStream.makeStream(of: Never.self)
    self.first = first
    service = RunLoopService(name: name) { loop in
      try setUp(loop)
      try loop.perform { end.finish() }
    }
  }

  /// Returns when its loop has begun to run.
  func begun() async { for await _ in first {} }
}

private struct Trouble: Error, Equatable {}

/// Ends when its work has: a group then ends, too.
private struct Work: Service {
  let body: @Sendable () async throws -> Void

  func run() async throws { try await body() }
}

private let logger = Logger(label: "services") { _ in SwiftLogNoOpLogHandler() }

private func group(_ services: [ServiceGroupConfiguration.ServiceConfiguration]) -> ServiceGroup {
  ServiceGroup(configuration: .init(services: services, logger: logger))
}

struct RunLoopServiceTests {
  @Test func aShutdownStopsAfterDueWork() async throws {
    let (story, watched) = (Story(), Watched("writer"))
    let service = watched.service
    try await testGracefulShutdown { shutdown in
      async let end: Void = service.run()
      await watched.begun()
      try service.thread.perform {
        // The loop is here while all that follows is queued.
        story.tell("began")
        try? service.thread.perform {
          story.tell("queued before the shutdown")
          #expect(throws: RunLoopError.self) { try service.thread.perform { story.tell("late") } }
        }
        shutdown.triggerGracefulShutdown()
      }
      try await end
    }
    #expect(story.told == ["began", "queued before the shutdown"])
    #expect(!service.thread.isRunning)
  }

  @Test func aShutdownBeforeTheStartIsKept() async throws {
    let (story, service) = (Story(), RunLoopService(name: "late"))
    try await testGracefulShutdown { shutdown in
      shutdown.triggerGracefulShutdown()
      try await service.run()
      story.tell("over")
    }
    #expect(story.told == ["over"])
  }

  @Test func cancellationStopsNow() async throws {
    let (story, watched) = (Story(), Watched("cancelled"))
    let service = watched.service
    let task = Task { try await service.run() }
    await watched.begun()
    try service.thread.perform {
      try? service.thread.perform { story.tell("what was queued") }
      task.cancel()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(story.told == [])
    #expect(!service.thread.isRunning)
  }

  @Test func theSetUpsErrorIsTheServices() async throws {
    let service = RunLoopService(name: "broken") { _ in throw Trouble() }
    await #expect(throws: Trouble.self) { try await service.run() }
  }

  @Test func aCalloutGivesUp() async throws {
    let watched = Watched("gives up")
    let service = watched.service
    let task = Task { try await service.run() }
    await watched.begun()
    try service.thread.perform {
      service.fail(Trouble())
      service.fail(CancellationError())
    }
    await #expect(throws: Trouble.self) { try await task.value }
  }

  @Test func itRunsOnce() async throws {
    let service = RunLoopService(name: "once")
    try await testGracefulShutdown { shutdown in
      shutdown.triggerGracefulShutdown()
      try await service.run()
    }
    await #expect(throws: RunLoopError.alreadyStarted) { try await service.run() }
  }

  /// Services of a group are shut down in the reverse order of their start.
  @Test func aGroupShutsLoopsDownInTurn() async throws {
    let story = Story()
    let loops = [Watched("store"), Watched("server")]
    let services = loops.map { loop in
      Work {
        try await loop.service.run()
        story.tell("\(loop.service.thread.name) is over")
      }
    }
    let group = group(services.map { .init(service: $0) })
    async let end: Void = group.run()
    for loop in loops { await loop.begun() }
    await group.triggerGracefulShutdown()
    try await end
    #expect(story.told == ["server is over", "store is over"])
  }

  @Test func aServiceThatEndsShutsALoopDownGracefully() async throws {
    let (story, watched) = (Story(), Watched("beside"))
    let service = watched.service
    let work = Work {
      await watched.begun()
      try service.thread.perform { story.tell("due") }
    }
    let group = group([
      .init(service: service),
      .init(service: work, successTerminationBehavior: .gracefullyShutdownGroup),
    ])
    try await group.run()
    #expect(story.told == ["due"])
  }

  @Test func aLoopsFailureIsTheGroups() async throws {
    let watched = Watched("fails")
    let service = watched.service
    let group = group([
      .init(service: service),
      .init(
        service: Work {
          await watched.begun()
          try service.thread.perform { service.fail(Trouble()) }
          try await gracefulShutdown()
        }),
    ])
    await #expect(throws: Trouble.self) { try await group.run() }
  }

  /// The group counts an end that it has not asked for as a failure.
  @Test func aLoopThatStopsByItselfEndsItsGroup() async throws {
    let service = RunLoopService(name: "stops") { loop in try loop.perform { loop.stop() } }
    await #expect(throws: ServiceGroupError.serviceFinishedUnexpectedly()) {
      try await group([.init(service: service)]).run()
    }
  }

  /// Two loops in one group, and one of them is the main thread's own: the group is awaited on a loop.
  @Test func aGroupRunsOnALoop() throws {
    let (story, watched) = (Story(), Watched("second"))
    let service = watched.service
    let loop = RunLoop.current
    try loop.run {
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        let group = group([.init(service: service)])
        tasks.addTask { try await group.run() }
        await watched.begun()
        story.tell("beside, on the loop: \(loop.isCurrent)")
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
      }
    }
    #expect(story.told == ["beside, on the loop: true"])
  }
}
