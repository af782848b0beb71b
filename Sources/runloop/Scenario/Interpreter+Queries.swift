import RunLoopKit

extension Interpreter {
  func answer(_ query: Query, _ line: Int, _ thread: ScenarioThread?) {
    emit(text(of: query, line, thread), on: thread)
  }

  /// Returns the line of a query: `WHAT ARGS = ANSWER`.
  private func text(of query: Query, _ line: Int, _ thread: ScenarioThread?) -> String {
    func loop(_ name: LoopName) -> RunLoop { resolve(name, thread, line) }
    func yes(_ answer: Bool) -> String { answer ? "yes" : "no" }
    switch query {
    case .contains(let item, let mode, let name):
      let isMember = loop(name).contains(created(item, line), in: mode.mode)
      return "contains \(items[item].name) \(mode.written) = \(yes(isMember))"
    case .nextFire(let mode, let name):
      return "nextfire \(mode.written) = \(fireDate(loop(name).nextFireDate(in: mode.mode)))"
    case .modes(let name):
      // Leaves out the tracking mode: RunLoopKit's main loop always has it, and the language has no word for it.
      let modes = loop(name).modes.subtracting([.tracking]).map { ModeName.traced($0) }
      return "modes = \(modes.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.joined(separator: ","))"
    case .mode(let name): return "mode = \(ModeName.traced(loop(name).currentMode))"
    case .isWaiting(let name): return "waiting = \(yes(loop(name).isWaiting))"
    case .isFinished(let mode, let name):
      return "finished \(mode.written) = \(yes(loop(name).isEmpty(in: mode.mode)))"
    case .isMain: return "ismain = \(yes(RunLoop.current.isMain))"
    case .isSameLoop(let name): return "sameloop \(name) = \(yes(self.thread(name).loop === RunLoop.current))"
    default: return itemText(of: query, line)
    }
  }

  /// Returns the line of a query that names an item and no loop.
  private func itemText(of query: Query, _ line: Int) -> String {
    func yes(_ answer: Bool) -> String { answer ? "yes" : "no" }
    switch query {
    case .isValid(let item): return "valid \(items[item].name) = \(yes(created(item, line).isValid))"
    case .isSignalled(let item):
      let isSignalled = (created(item, line) as? RunLoop.Source)?.isSignalled ?? false
      return "signalled \(items[item].name) = \(yes(isSignalled))"
    case .order(let item): return "order \(items[item].name) = \(created(item, line).order)"
    case .activities(let item):
      let mask = (created(item, line) as! RunLoop.Observer).activities.rawValue
      return "activities \(items[item].name) = 0x\(String(mask, radix: 16))"
    case .repeats(let item):
      let object = created(item, line)
      let repeats = (object as? RunLoop.Observer)?.repeats ?? ((object as! RunLoop.Timer).interval > .zero)
      return "repeats \(items[item].name) = \(yes(repeats))"
    case .interval(let item): return "interval \(items[item].name) = \(rounded(timer(item, line).interval))"
    case .tolerance(let item): return "tolerance \(items[item].name) = \(rounded(timer(item, line).tolerance))"
    case .fireIn(let item): return "firein \(items[item].name) = \(fireDate(timer(item, line).fireDate))"
    case .isPending(let item):
      _ = created(item, line)
      return "pending \(items[item].name) = \(yes(items[item].ports.isReadable))"
    case .count(let item): return "count \(items[item].name) = \(items[item].calls)"
    default: return ""
    }
  }

  private func fireDate(_ date: RunLoop.Instant?) -> String {
    guard let date else { return "none" }
    return String(time.bucket(RunLoop.Instant.now.duration(to: date)))
  }

  private func rounded(_ duration: Duration) -> Int {
    Int(clamping: time.milliseconds(duration).rounded(.toNearestOrAwayFromZero))
  }
}
