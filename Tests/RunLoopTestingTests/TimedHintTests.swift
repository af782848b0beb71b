import RunLoopKit
import RunLoopTesting
import Testing

import class RunLoopKit.RunLoop

/// Hints that name a time: in virtual time, and in a process of its own, which asks for hints.
@Suite struct TimedHintTests {
  private func lines(of content: [UInt8], about label: String) -> [String] {
    String(decoding: content, as: UTF8.self).split(separator: "\n").map(String.init).filter { $0.contains(label) }
  }

  @Test func test_RLK_DIAG_11_aSlowCallout() async throws {
    let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
      RunLoop.diagnostics.level = .hint
      try await VirtualTime.run { time in
        let (loop, start) = (RunLoop.current, time.now)
        for second in [1, 2] {
          let timer = RunLoop.Timer(fireDate: start.advanced(by: .seconds(10 * second))) { _ in
            time.advance(by: .seconds(second))
          }
          timer.label = "diag \(second) s"
          try loop.add(timer)
        }
        #expect(try loop.run() == .finished)
        try loop.performAsSource(label: "diag block") { time.advance(by: .seconds(2)) }
        #expect(try loop.run() == .finished)
        try loop.timer(after: .zero, file: "diag/main.swift", line: 7) { _ in time.advance(by: .seconds(2)) }
        try loop.performAsSource(file: "diag/main.swift", line: 8) { time.advance(by: .seconds(2)) }
        #expect(try loop.run() == .finished)
      }
    }
    let slow = [
      "a timer \"diag 2 s\"", "a block \"diag block\"", "a block at diag/main.swift:8", "a timer at diag/main.swift:7",
    ]
    #expect(
      lines(of: result.standardErrorContent, about: "diag")
        == slow.map {
          "RunLoopKit: \($0) took 2.0 seconds in mode \"kCFRunLoopDefaultMode\", and the loop served nothing else "
            + "meanwhile; do it in parts, or in another thread"
        })
  }

  #if DEBUG
    @Test func test_RLK_DIAG_11_aSignalThatWokeNothing() async throws {
      let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
        RunLoop.diagnostics.level = .hint
        try await VirtualTime.run { time in
          let (loop, start) = (RunLoop.current, time.now)
          for isWoken in [false, true, false] {
            let source = RunLoop.Source { _ in loop.stop() }
            source.label = isWoken ? "diag woken" : "diag forgotten"
            try loop.add(source)
            let observer = RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in
              source.signal()
              if isWoken { loop.wakeUp() }
            }
            try loop.add(observer)
            try loop.add(RunLoop.Timer(fireDate: time.now.advanced(by: .seconds(5))) { _ in })
            #expect(try loop.run() == .stopped)
            source.invalidate()
          }
          #expect(start.duration(to: time.now) >= .seconds(10))
        }
      }
      #expect(
        lines(of: result.standardErrorContent, about: "diag") == [
          "RunLoopKit: signal(): a source \"diag forgotten\" has waited 5.0 seconds, and then something else ended the loop's "
            + "sleep; signal() does not wake a loop: call wakeUp() after it"
        ])
    }
  #endif
}
