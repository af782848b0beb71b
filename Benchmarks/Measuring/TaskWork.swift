import CMeasure
import Glibc

/// What the workloads of tasks do, whoever runs the actor, the sleep or the stream.
package enum TaskWork {
  /// A task visits an actor, again and again: each time from the default executor there and back.
  package static func roundTrips(
    _ count: Int, _ result: inout bench_result, _ visit: @escaping @Sendable () async -> Void
  ) {
    let (samples, done) = (Samples(count), Gate())
    bench_begin(&result)
    Task.detached {
      for _ in 0..<count {
        let since = bench_now()
        await visit()
        samples.take(bench_now() - since)
      }
      done.open()
    }
    done.pass()
    bench_end(&result)
    samples.store(in: &result)
  }

  /// Tasks visit an actor side by side.
  package static func visits(
    _ count: Int, ofTasks tasks: Int, _ result: inout bench_result, _ visit: @escaping @Sendable () async -> Void
  ) {
    let (each, done) = (count / tasks, Gate())
    bench_begin(&result)
    for _ in 0..<tasks {
      Task.detached {
        for _ in 0..<each { await visit() }
        done.open()
      }
    }
    for _ in 0..<tasks { done.pass() }
    bench_end(&result)
    result.operations = UInt64(each * tasks)
  }

  /// A task makes calls from actor to actor.
  package static func calls(
    _ count: Int, on executor: (any TaskExecutor)? = nil, _ result: inout bench_result,
    _ call: @escaping @Sendable (Int) async -> Void
  ) {
    let done = Gate()
    let work: @Sendable () async -> Void = {
      await call(count)
      done.open()
    }
    bench_begin(&result)
    // A preference that is nil is not the same: the runtime looks it up at each call.
    if let executor {
      Task.detached(executorPreference: executor, operation: work)
    } else {
      Task.detached(operation: work)
    }
    done.pass()
    bench_end(&result)
    result.operations = UInt64(count)
  }

  /// A task sleeps for a millisecond, again and again: how late it goes on.
  package static func sleeps(
    _ count: Int, on executor: (any TaskExecutor)? = nil, _ result: inout bench_result,
    _ sleep: @escaping @Sendable (UInt64) async throws -> Void
  ) {
    let (samples, done) = (Samples(count), Gate())
    bench_begin(&result)
    Task.detached(executorPreference: executor) {
      for _ in 0..<count {
        let due = bench_now() + 1_000_000
        do { try await sleep(due) } catch { fatalError("\(error)") }
        let now = bench_now()
        samples.take(now > due ? now - due : 0)
      }
      done.open()
    }
    done.pass()
    bench_end(&result)
    samples.store(in: &result)
  }

  /// The calling thread sends, and a task receives.
  package static func elements(
    _ result: inout bench_result, _ count: Int, on executor: (any TaskExecutor)? = nil, send: () throws -> Void,
    receive: @escaping @Sendable () async throws -> Void
  ) {
    let done = Gate()
    bench_begin(&result)
    Task.detached(executorPreference: executor) {
      do { try await receive() } catch { fatalError("\(error)") }
      done.open()
    }
    do { try send() } catch { fatalError("\(error)") }
    done.pass()
    bench_end(&result)
    result.operations = UInt64(count)
  }

  /// Of round trips, or how late something was. One task at a time takes them.
  private final class Samples: @unchecked Sendable {
    private let values: UnsafeMutablePointer<UInt32>
    private let wanted: Int
    private var taken = 0

    init(_ wanted: Int) {
      self.wanted = wanted
      values = .allocate(capacity: wanted)
      values.initialize(repeating: 0, count: wanted)
    }

    func take(_ time: UInt64) {
      values[taken] = UInt32(truncatingIfNeeded: time)
      taken += 1
    }

    func store(in result: inout bench_result) {
      result.operations = UInt64(wanted)
      result.samples = values
      result.sample_count = taken
    }
  }

  /// What the measured thread waits for.
  private final class Gate: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    init() { sem_init(semaphore, 0, 0) }
    func open() { sem_post(semaphore) }
    func pass() { while sem_wait(semaphore) != 0 {} }
  }
}
