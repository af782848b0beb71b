import OpenCombine
import RunLoopCombine
import RunLoopKit
import RunLoopTesting

try VirtualTime.run { time in  // no test has to wait
  let loop = RunLoop.current
  let start = time.now
  let words = PassthroughSubject<String, Never>()
  let search = words.debounce(for: .milliseconds(200), scheduler: loop.scheduler)
    .sink { print("search for \($0) after \(start.duration(to: time.now))") }
  try loop.assumeOnLoop { local in
    for (word, delay) in [("r", 0), ("ru", 100), ("run", 250), ("loop", 1000)] {
      try local.perform(after: .milliseconds(delay)) { words.send(word) }
    }
  }
  try loop.run()
  search.cancel()
}
