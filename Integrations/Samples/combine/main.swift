import OpenCombine
import RunLoopKit
import RunLoopTesting

try VirtualTime.run { time in  // no test has to wait
  let loop = RunLoop.current
  let start = time.now
  let numbers = PassthroughSubject<Int, Never>()
  let later = numbers.receive(on: loop.scheduler).sink { print("\($0), on the loop: \(loop.isCurrent)") }
  for number in 1...2 { numbers.send(number) }
  print("sent")

  let beats = loop.scheduler.schedule(
    after: loop.scheduler.now, interval: .milliseconds(500), tolerance: .zero, options: nil
  ) { print("beat after \(start.duration(to: time.now))") }
  let words = PassthroughSubject<String, Never>()
  let search = words.debounce(for: .milliseconds(200), scheduler: loop.scheduler).sink { word in
    print("search for \(word) after \(start.duration(to: time.now))")
    if word == "loop" { beats.cancel() }
  }
  try loop.assumeOnLoop { local in
    for (word, delay) in [("r", 0), ("ru", 100), ("run", 250), ("loop", 1000)] {
      try local.perform(after: .milliseconds(delay)) { words.send(word) }
    }
  }
  try loop.run()
  search.cancel()
  later.cancel()
}

let thread = RunLoop.Thread(name: "ends")
try thread.start()
let scheduler = thread.loop!.scheduler
let inAnHour = scheduler.now.advanced(by: 3600)
scheduler.schedule(after: inAnHour, tolerance: .zero, options: .init { print("dropped") }) { print("called") }
thread.stop()
try thread.join()
scheduler.schedule { print("called") }
