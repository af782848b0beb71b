import RunLoopKit

extension Interpreter {
  func execute(_ statements: [Statement], on thread: ScenarioThread?) {
    for statement in statements {
      thread?.line = statement.line
      do {
        try execute(statement.action, statement.line, thread)
      } catch {
        fail(statement.line, "\(error)")
      }
    }
  }

  private func execute(_ action: Action, _ line: Int, _ thread: ScenarioThread?) throws {
    switch action {
    case .add(let item, let mode, let loop):
      try resolve(loop, thread, line).add(created(item, line), to: mode.mode)
    case .remove(let item, let mode, let loop):
      resolve(loop, thread, line).remove(created(item, line), from: mode.mode)
    case .invalidate(let item):
      created(item, line).invalidate()
      items[item].wasInvalidated()
    case .create(let item): create(items[item])
    case .drop(let item):
      _ = created(item, line)
      items[item].drop()
    case .signal(let item): (created(item, line) as? RunLoop.Source)?.signal()  // does nothing for a source1
    case .wake(let loop): resolve(loop, thread, line).wakeUp()
    case .stop(let loop): resolve(loop, thread, line).stop()
    case .addCommon(let mode, let loop): resolve(loop, thread, line).addCommonMode(mode.mode)
    case .perform(let item, let modes, let loop):
      try enqueue(items[item], in: modes.map(\.mode), of: resolve(loop, thread, line))
    case .performAsSource(let item, let modes, let loop, let waits):
      try perform(items[item], in: modes.map(\.mode), of: resolve(loop, thread, line), waits: waits)
    case .async(let item): dispatch(items[item])
    case .write(let item, let count): write(item, count, line, thread)
    case .setFireDate(let item, let delay):
      timer(item, line).fireDate = RunLoop.Instant.now.advanced(by: time.duration(delay))
    case .setTolerance(let item, let tolerance): timer(item, line).tolerance = time.duration(tolerance)
    case .run(let request):
      enterRun(line, thread)
      try run(request, thread)
      thread?.depth -= 1
    case .runForever:
      enterRun(line, thread)
      emit("runforever", on: thread)
      try RunLoop.current.run()
      emit("ranforever", on: thread)
      thread?.depth -= 1
    case .sleep, .busy, .note, .mark, .spawn, .join, .repeat, .until: executePlain(action, line, thread)
    case .query(let query): answer(query, line, thread)
    }
  }

  /// Executes the actions that do not name a loop.
  private func executePlain(_ action: Action, _ line: Int, _ thread: ScenarioThread?) {
    switch action {
    case .sleep(let milliseconds): time.sleep(milliseconds)
    case .busy(let milliseconds): time.burn(milliseconds)
    case .note(let text): emit("note \(text)", on: thread)
    case .mark: emit("mark\(stamp())", on: thread)
    case .spawn(let name): spawn(name, line: line)
    case .join(let name): join(name, line: line)
    case .repeat(let count, let body):
      for _ in 0..<max(0, count) { execute(body, on: thread) }
    case .until(let item, let count, let body):
      while items[item].calls < count {
        execute(body, on: thread)
        time.loopedOnce()
      }
    default: break
    }
  }

  /// Limits the nesting of runs, so that a block that runs its loop recursively does not overflow the stack.
  private func enterRun(_ line: Int, _ thread: ScenarioThread?) {
    guard let thread else { return }
    guard thread.depth < Limits.nesting else { fail(line, "runs are nested more than \(Limits.nesting) deep") }
    thread.depth += 1
  }

  private func run(_ request: RunRequest, _ thread: ScenarioThread?) throws {
    if !request.isQuiet { emit("run \(request.mode.shown)", on: thread) }
    let result = try RunLoop.current.run(
      in: request.mode.mode, for: time.runLimit(request.seconds),
      returnAfterSourceHandled: request.returnAfterSourceHandled)
    guard !request.isQuiet else { return }
    let name =
      switch result {
      case .finished: "FINISHED"
      case .stopped: "STOPPED"
      case .timedOut: "TIMEDOUT"
      case .handledSource: "HANDLED"
      }
    emit("ran \(request.mode.shown) \(name)\(request.isStamped ? stamp() : "")", on: thread)
  }

  private func write(_ item: Int, _ count: Int, _ line: Int, _ thread: ScenarioThread?) {
    _ = created(item, line)
    for _ in 0..<max(0, count) where !items[item].ports.writeOne() {
      emit("write-failed \(items[item].name)", on: thread)
    }
  }

  // MARK: What actions name

  /// The loop that an action concerns.
  func resolve(_ name: LoopName, _ thread: ScenarioThread?, _ line: Int) -> RunLoop {
    switch name {
    case .own: return thread?.loop ?? primary.loop!
    case .main: return RunLoop.main
    case .thread(let name):
      guard let loop = self.thread(name).loop else { fail(line, "thread '\(name)' has no loop") }
      return loop
    }
  }

  func created(_ item: Int, _ line: Int) -> RunLoop.Item {
    guard let created = items[item].item else { fail(line, "'\(items[item].name)' has not been created") }
    return created
  }

  func timer(_ item: Int, _ line: Int) -> RunLoop.Timer {
    created(item, line) as! RunLoop.Timer  // the parser has checked the kind
  }
}
