import Glibc
import RunLoopKit
import Synchronization

extension Demo {
  /// A thread that stays, takes work from other threads, and goes when it is told.
  struct ResidentStory: Story {
    let name = "resident"
    let title = "a thread that lives to be given work"

    private let posters = 3
    private let jobsEach = 2000

    func tell(on stage: Stage) throws -> Outcome {
      stage.say(
        "A thread runs its loop and nothing else; a source without work keeps its mode from being empty. Others give "
          + "it blocks with perform, which wakes it.")
      let resident = try ResidentThread()
      let ledger = Ledger()
      stage.note("\(posters) threads post \(grouped(jobsEach)) blocks each")
      let start = RunLoop.Instant.now
      let workers = try (0..<posters).map { poster in
        try Worker { [jobsEach] in
          for number in 0..<jobsEach { ledger.post(poster, number, to: resident.loop) }
        }
      }
      workers.forEach { $0.join() }
      let posted = start.duration(to: .now)
      stage.note("all were posted after \(described(posted)); now a block that stops the loop, and join")
      let result = resident.stopAndJoin()
      let took = start.duration(to: .now)
      let record = ledger.record.withLock { $0 }

      var outcome = Outcome()
      let total = posters * jobsEach
      outcome.expect(
        "every block ran, none twice", record.count == total && record.isInOrder && record.refused == 0,
        seen: "\(grouped(record.count)) of \(grouped(total))")
      outcome.expect(
        "in the order in which each thread posted", record.isInOrder, seen: record.isInOrder ? "yes" : "no")
      outcome.expect(
        "all of them on the resident thread", record.threads == [resident.thread],
        seen: "\(record.threads.count) thread\(record.threads.count == 1 ? "" : "s")")
      outcome.expect("stop() from a block ended its run", .stopped, seen: result)
      outcome.expect("after join its loop has ended", resident.loop.hasEnded, seen: "\(resident.loop.hasEnded)")
      outcome.expect("work for a thread that is gone is refused", .loopEnded, seen: lateError(resident.loop))
      outcome.figure = "\(grouped(total)) blocks, \(rate(total, in: took)) per second"
      return outcome
    }

    private func lateError(_ loop: RunLoop) -> RunLoopError? {
      do {
        try loop.perform(in: .default) {}
        return nil
      } catch {
        return error as? RunLoopError
      }
    }
  }

  /// The thread and its loop. From the initializer's return to `stopAndJoin` the loop takes work.
  final class ResidentThread: Sendable {
    let loop: RunLoop
    let thread: pthread_t
    private let worker: Worker
    private let result = Handover<RunLoop.RunResult?>()

    init() throws {
      let started = Handover<(loop: RunLoop, thread: pthread_t)>()
      let result = self.result
      worker = try Worker {
        let loop = RunLoop.current
        started.give((loop, pthread_self()))
        do {
          try loop.add(RunLoop.Source { _ in })
          result.give(try loop.run())
        } catch {
          endIfShort(error)
          result.give(nil)
        }
      }
      (loop, thread) = started.take()
    }

    /// The stop is a block of its own: stop() does nothing to a loop that does not run yet, and a block runs only in
    /// one that does.
    func stopAndJoin() -> RunLoop.RunResult? {
      try? loop.perform(in: .default) { RunLoop.current.stop() }
      worker.join()
      return result.take()
    }
  }

  /// What the blocks found when they ran.
  private final class Ledger: Sendable {
    struct Record: Sendable {
      var count = 0
      var refused = 0
      var isInOrder = true
      var threads: Set<pthread_t> = []
      fileprivate var next: [Int: Int] = [:]  // by poster
    }

    let record = Mutex(Record())

    func post(_ poster: Int, _ number: Int, to loop: RunLoop) {
      do {
        try loop.perform(in: .default) { self.ran(poster, number) }
      } catch {
        record.withLock { $0.refused += 1 }
      }
    }

    private func ran(_ poster: Int, _ number: Int) {
      record.withLock { record in
        record.count += 1
        record.threads.insert(pthread_self())
        if record.next[poster, default: 0] != number { record.isInOrder = false }
        record.next[poster] = number + 1
      }
    }
  }
}
