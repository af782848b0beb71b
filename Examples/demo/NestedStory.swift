import RunLoopKit

extension Demo {
  /// A modal dialog: a callout runs the loop again, in a mode of its own.
  struct NestedStory: Story {
    let name = "nested"
    let title = "a run within a run, and whom stop() reaches"

    private static let dialog: RunLoop.Mode = "demo.dialog"

    func tell(on stage: Stage) throws -> Outcome {
      stage.say(
        "A block opens a dialog: it runs the loop again, in a mode in which only the dialog's timer is. The page's "
          + "timer waits meanwhile. stop() ends the innermost run and no other.")
      let loop = RunLoop.current
      let page = Page()
      var items: [RunLoop.Item] = []
      defer { items.forEach { $0.invalidate() } }

      try loop.assumeOnLoop { local in
        let ticker = try local.timer(after: .milliseconds(20), interval: .milliseconds(20), in: .default) { _ in
          page.tick()
          guard page.ticksAfterDialog == 3 else { return }
          stage.note("page: three ticks since the dialog; stop()")
          loop.stop()
        }
        let button = try local.timer(after: .milliseconds(150), in: Self.dialog) { _ in
          page.modeInDialog = loop.currentMode
          stage.note("dialog: its timer calls stop()")
          loop.stop()
        }
        try local.perform(in: .default) {
          stage.note("page: opens the dialog")
          page.dialogIsOpen = true
          do { page.dialogResult = try loop.run(in: Self.dialog, for: patience) } catch { endIfShort(error) }
          page.dialogIsOpen = false
          page.modeAfterDialog = loop.currentMode
          stage.note("page: the dialog is closed, the outer run goes on")
        }
        items = [ticker, button]
      }
      let start = RunLoop.Instant.now
      let result = try loop.run(for: patience)
      let took = start.duration(to: .now)

      var outcome = Outcome()
      outcome.expect("the dialog ran in its own mode", Self.dialog, seen: page.modeInDialog, as: spelled)
      outcome.expect("its stop() ended the inner run", .stopped, seen: page.dialogResult)
      outcome.expect("the page did not tick meanwhile", 0, seen: page.ticksInDialog)
      outcome.expect("the outer run was back in its mode", .default, seen: page.modeAfterDialog, as: spelled)
      outcome.expect("the outer run went on", 3, seen: page.ticksAfterDialog)
      outcome.expect("until a stop() of its own", .stopped, seen: result)
      outcome.expect("now no run is left", loop.currentMode == nil, seen: loop.currentMode.map(spelled) ?? "none")
      outcome.figure = "two runs deep, two stops, \(described(took))"
      return outcome
    }
  }

  fileprivate static func spelled(_ mode: RunLoop.Mode) -> String { mode == .default ? ".default" : mode.rawValue }

  /// Belongs to the thread of one loop.
  private final class Page {
    var dialogIsOpen = false
    var dialogResult: RunLoop.RunResult?
    var modeInDialog: RunLoop.Mode?
    var modeAfterDialog: RunLoop.Mode?
    private(set) var ticksInDialog = 0
    private(set) var ticksAfterDialog = 0

    func tick() {
      if dialogIsOpen { ticksInDialog += 1 } else { ticksAfterDialog += 1 }
    }
  }
}
