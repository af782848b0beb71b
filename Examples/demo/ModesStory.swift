import RunLoopKit

extension Demo {
  /// Two timers of one interval: the one in the default mode rests while the loop runs in another mode, the one in the
  /// common modes does not.
  struct ModesStory: Story {
    let name = "modes"
    let title = "a timer that pauses, a timer that does not"

    private let beat: Duration = .milliseconds(100)
    private let phase: Duration = .milliseconds(720)

    func tell(on stage: Stage) throws -> Outcome {
      stage.say(
        "A run names one mode and serves only what is in it. While a user drags a slider the loop runs in .tracking: "
          + "what is in the default mode waits. .common stands for all modes that were made common.")
      let loop = RunLoop.current
      loop.addCommonMode(.tracking)
      let start = RunLoop.Instant.now
      let pausing = Timeline(start)
      let steady = Timeline(start)
      // Both closures keep a plain class of this thread; assumeOnLoop is the door that lets them.
      let timers = try loop.assumeOnLoop { local in
        [
          try local.timer(after: beat, interval: beat, in: .default) { _ in pausing.tick(loop.currentMode) },
          try local.timer(after: beat, interval: beat, in: .common) { _ in steady.tick(loop.currentMode) },
        ]
      }
      defer { timers.forEach { $0.invalidate() } }

      var results: [RunLoop.RunResult] = []
      var bounds: [Duration] = []
      for mode in [RunLoop.Mode.default, .tracking, .default] {
        stage.note("run(in: .\(mode == .tracking ? "tracking" : "default"), for: \(described(phase)))")
        results.append(try loop.run(in: mode, for: phase))
        bounds.append(start.duration(to: .now))
      }
      draw(bounds, pausing: pausing, steady: steady, on: stage)

      var outcome = Outcome()
      outcome.expect("runs that lasted their time", 3, seen: results.count { $0 == .timedOut })
      outcome.expect("default timer while tracking", 0, seen: pausing.count(in: .tracking))
      outcome.expect(
        "common timer while tracking", steady.count(in: .tracking) > 0, seen: "\(steady.count(in: .tracking)) ticks")
      let after = pausing.ticks.count { $0.mode == .default && $0.at > bounds[1] }
      outcome.expect("the default timer went on afterwards", after > 0, seen: "\(after) ticks")
      // A late timer fires once at the next occasion and keeps its phase: one tick more than whole beats, at most.
      let room = Int(nanoseconds(bounds[2] - bounds[1]) / nanoseconds(beat)) + 2
      outcome.expect("missed ticks are not made up", after <= room, seen: "at most \(room) fit, \(after) came")
      outcome.figure = "while tracking: 0 and \(steady.count(in: .tracking)) ticks of \(described(beat))"
      return outcome
    }

    private func draw(_ bounds: [Duration], pausing: Timeline, steady: Timeline, on stage: Stage) {
      let scale = 60.0 / nanoseconds(bounds[2])
      var ruler = ""
      for (title, end) in zip(["default", "tracking", "default"], bounds.map({ Int(nanoseconds($0) * scale) })) {
        let label = "├ \(title) "
        ruler += label + String(repeating: "─", count: max(0, end - ruler.count - label.count))
      }
      stage.put("   " + padded("", 12) + stage.styled(ruler, .dim))
      stage.put("   " + padded(".default", 12) + stage.styled(pausing.drawn(scale: scale), .yellow))
      stage.put("   " + padded(".common", 12) + stage.styled(steady.drawn(scale: scale), .green))
    }
  }

  /// When a timer ticked, and in which mode. Belongs to one thread.
  private final class Timeline {
    private let start: RunLoop.Instant
    private(set) var ticks: [(at: Duration, mode: RunLoop.Mode?)] = []

    init(_ start: RunLoop.Instant) { self.start = start }

    func tick(_ mode: RunLoop.Mode?) { ticks.append((start.duration(to: .now), mode)) }
    func count(in mode: RunLoop.Mode) -> Int { ticks.count { $0.mode == mode } }

    /// One character per column of 1 / scale nanoseconds, sixty of them.
    func drawn(scale: Double) -> String {
      var columns = [Character](repeating: "·", count: 60)
      for tick in ticks { columns[min(59, Int(Demo.nanoseconds(tick.at) * scale))] = "●" }
      return String(columns)
    }
  }
}
