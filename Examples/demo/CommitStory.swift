import RunLoopKit

extension Demo {
  /// What drawing frameworks do: changes only mark a canvas dirty, an observer commits them once, when the loop has
  /// nothing else to do or ends its run.
  struct CommitStory: Story {
    let name = "commit"
    let title = "many changes, one commit"

    private let frames = 6

    func tell(on stage: Stage) throws -> Outcome {
      stage.say(
        "In each frame a timer, a block and a source change a canvas, a hundred times together. Nobody draws at once: "
          + "an observer of .beforeWaiting and .exit commits what is dirty, after everything else of the pass.")
      let loop = RunLoop.current
      let canvas = Canvas()
      var items: [RunLoop.Item] = []
      defer { items.forEach { $0.invalidate() } }

      try loop.assumeOnLoop { local in
        // The source runs in the pass after the timer's. It has work done, so that pass does not wait and nothing is
        // committed in between.
        let source = try local.source { _ in
          canvas.change(times: 20)
          if canvas.frame == frames { loop.stop() }
        }
        let clock = try local.timer(after: .milliseconds(25), interval: .seconds(3600)) { _ in
          canvas.frame += 1
          canvas.change(times: 40)
          source.signal()
          // A block queued by a timer runs at the end of the same pass.
          try? loop.assumeOnLoop { try $0.perform(in: .default) { canvas.change(times: 40) } }
        }
        let commit = try local.observer([.beforeWaiting, .exit], order: 2_000_000) { _, activity in
          guard let batch = canvas.commit(at: activity) else { return }
          let moment = activity == .exit ? "exit" : "before waiting"
          stage.note("frame \(canvas.frame): \(batch) changes, one commit, \(moment)")
          clock.fireDate = RunLoop.Instant.now.advanced(by: .milliseconds(25))  // the next frame
        }
        items = [source, clock, commit]
      }
      let start = RunLoop.Instant.now
      let result = try loop.run(for: patience)
      let took = start.duration(to: .now)

      var outcome = Outcome()
      let batches = canvas.commits.map(\.changes)
      let moments = canvas.commits.map(\.activity)
      outcome.expect("one commit per frame", frames, seen: batches.count)
      outcome.expect(
        "each with all of its changes", batches.allSatisfy { $0 == 100 },
        seen: batches.map(String.init).joined(separator: " "))
      outcome.expect(
        "before waiting; the last one when the run ended",
        moments == Array(repeating: .beforeWaiting, count: frames - 1) + [.exit],
        seen: "\(moments.count { $0 == .beforeWaiting }) and \(moments.count { $0 == .exit })")
      outcome.expect("a look at a clean canvas commits nothing", canvas.idleLooks > 0, seen: "\(canvas.idleLooks) such")
      outcome.expect("the run ended by stop()", .stopped, seen: result)
      outcome.figure = "\(canvas.changes) changes, \(batches.count) commits in \(described(took))"
      return outcome
    }
  }

  /// Belongs to the thread of one loop.
  private final class Canvas {
    var frame = 0
    private(set) var changes = 0
    private(set) var commits: [(changes: Int, activity: RunLoop.Activity)] = []
    private(set) var idleLooks = 0
    private var pending = 0

    func change(times: Int) {
      for _ in 0..<times { setNeedsCommit() }
    }

    /// All that a change does: it leaves a mark.
    private func setNeedsCommit() {
      pending += 1
      changes += 1
    }

    /// The number of changes committed, or nil if nothing was dirty.
    func commit(at activity: RunLoop.Activity) -> Int? {
      guard pending > 0 else {
        idleLooks += 1
        return nil
      }
      defer { pending = 0 }
      commits.append((pending, activity))
      return pending
    }
  }
}
