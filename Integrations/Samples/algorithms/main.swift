import AsyncAlgorithms
import RunLoopKit
import RunLoopTesting

let time = VirtualTime.install()  // no test has to wait
let loop = RunLoop.main
let start = time.now
runGlobalJobs(on: loop)

/// In milliseconds.
@Sendable func elapsed() -> Int { Int(start.duration(to: time.now) / .milliseconds(1)) }

try loop.run {
  let fast = loop.clock.ticks(every: .milliseconds(400)).map { _ in "fast" }
  let slow = loop.clock.ticks(every: .milliseconds(1000)).map { _ in "slow" }
  for try await name in merge(fast, slow).prefix(6) { print("\(elapsed()) \(name)") }

  let (right, messages) = loop.messages()
  let typing = Task(executorPreference: loop.executor) {
    for (id, pause) in [(1, 100), (2, 100), (3, 700), (4, 100), (5, 900)] {
      try await right.send(RunLoop.Message(id: UInt32(id)))
      try await Task.sleep(for: .milliseconds(pause), clock: loop.clock)
    }
  }
  for try await message in messages.debounce(for: .milliseconds(300), clock: loop.clock) {
    print("\(elapsed()) message \(message.id)")
    if message.id == 5 { break }
  }
  try await typing.value
}
