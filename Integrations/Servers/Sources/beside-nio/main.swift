import Glibc
import NIOCore
import NIOPosix
import RunLoopKit

/// SwiftNIO and a run loop in one process, which exchange messages: the loop by `execute`, the event loop by `perform`.
/// A message takes one hop: it is handled on the other side's own thread, and no third thread sees it.

let rounds = 10_000

/// The threads that a message has been on. Used by one side at a time.
final class Journey: @unchecked Sendable {
  private(set) var threads: Set<pthread_t> = []
  private(set) var hops = 0
  private(set) var answers = 0

  func arrives() {
    hops += 1
    threads.insert(pthread_self())
  }

  func isBack() {
    arrives()
    answers += 1
  }
}

func roundTrips(_ journey: Journey, _ eventLoop: any EventLoop, _ loop: RunLoop) {
  eventLoop.execute {
    eventLoop.preconditionInEventLoop()
    journey.arrives()
    do {
      try loop.perform {
        precondition(loop.isCurrent)
        journey.isBack()
        if journey.answers < rounds { roundTrips(journey, eventLoop, loop) } else { loop.stop() }
      }
    } catch {
      fatalError("the loop takes no message: \(error)")
    }
  }
}

func check(_ isRight: Bool, _ text: String) {
  print("\(isRight ? "ok  " : "FAIL") \(text)")
  if !isRight { failures += 1 }
}

nonisolated(unsafe) var failures = 0
let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let (loop, eventLoop, journey) = (RunLoop.main, group.next(), Journey())
loop.collectsStatistics = true

try loop.perform { roundTrips(journey, eventLoop, loop) }
try loop.runUntilStopped()

let statistics = loop.statistics
check(journey.answers == rounds, "\(rounds) messages there, and \(journey.answers) back")
check(journey.hops == 2 * rounds, "\(journey.hops) hops, one each way")
check(journey.threads.count == 2, "on \(journey.threads.count) threads")
check(
  statistics.blocksPerformed == rounds + 1,
  "\(statistics.blocksPerformed) blocks of the loop: one a message, and the first")
check(statistics.sleeps <= rounds, "\(statistics.sleeps) sleeps of the loop, at most one a message")
check(statistics.spuriousWakes == 0, "\(statistics.spuriousWakes) wakes for nothing")
try group.syncShutdownGracefully()
exit(failures == 0 ? 0 : 1)
