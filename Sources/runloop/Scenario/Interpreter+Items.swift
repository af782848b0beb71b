import Dispatch
import RunLoopKit

extension Interpreter {
  /// Creates the item if there is none; blocks need no creation.
  func create(_ record: ItemRecord) {
    guard record.item == nil else { return }
    let declaration = record.declaration
    switch declaration.kind {
    case .observer:
      let context = makeContext(of: record)
      record.store(
        RunLoop.Observer(declaration.activities, order: declaration.order, repeats: declaration.repeats) {
          [self] _, activity in withExtendedLifetime(context) { observerCallout(record, activity) }
        })
    case .source0:
      record.store(
        RunLoop.Source(order: declaration.order, hooks: hooks(record)) { [self] _ in callout(record, "source0") })
    case .source1: createPortSource(record)
    case .timer: createTimer(record)
    case .block: break
    }
  }

  private func createTimer(_ record: ItemRecord) {
    let declaration = record.declaration
    let context = makeContext(of: record)
    let timer = RunLoop.Timer(
      fireDate: RunLoop.Instant.now.advanced(by: time.duration(declaration.delay)),
      interval: time.duration(declaration.interval), order: declaration.order
    ) { [self] _ in
      if let context { context.during { callout(record, "timer") } } else { callout(record, "timer") }
    }
    if let tolerance = declaration.tolerance { timer.tolerance = time.duration(tolerance) }
    record.store(timer)
  }

  private func createPortSource(_ record: ItemRecord) {
    let declaration = record.declaration
    if case .shared(let name) = declaration.port {
      guard let other = itemsByName[name], other.item != nil else {
        fail(declaration.line, "share: '\(name)' has not been created")
      }
      record.store(other.ports)
    } else {
      switch ItemRecord.Ports.make(declaration.port) {
      case .success(let ports): record.store(ports)
      case .failure(let error): fail(declaration.line, "no port: error \(error.number)")
      }
    }
    do {
      let source = try RunLoop.PortSource(fileDescriptor: record.ports.reading, order: declaration.order) {
        [self] _ in callout(record, "source1")
      }
      source.context = makeContext(of: record)
      record.store(source)
    } catch {
      fail(declaration.line, "\(error)")
    }
  }

  private func makeContext(of record: ItemRecord) -> ItemContext? {
    guard record.declaration.hasContext else { return nil }
    let context = ItemContext(of: record, in: self)
    record.store(context)
    return context
  }

  private func hooks(_ record: ItemRecord) -> RunLoop.Source.Hooks {
    var hooks = RunLoop.Source.Hooks()
    hooks.identity = record.declaration.equalityGroup
    hooks.context = makeContext(of: record)
    if record.declaration.hasSchedule {
      hooks.schedule = { [self] loop, mode in traceMembership("schedule", record, loop, mode) }
      hooks.cancel = { [self] loop, mode in traceMembership("cancel", record, loop, mode) }
    }
    return hooks
  }

  private func traceMembership(_ verb: String, _ record: ItemRecord, _ loop: RunLoop, _ mode: RunLoop.Mode) {
    emit(
      "\(verb) \(record.name) mode=\(ModeName.traced(mode)) loop=\(name(of: loop))",
      group: .membership("\(verb) \(record.name)"), on: directory.current)
  }

  // MARK: Blocks

  /// Queues a block without waking the loop.
  func enqueue(_ record: ItemRecord, in modes: [RunLoop.Mode], of loop: RunLoop) throws {
    let ticket = BlockTicket(record: record, interpreter: self)
    try loop.enqueue(in: modes) { ticket.run() }
  }

  /// Makes a loop perform a block as a source.
  func perform(
    _ record: ItemRecord, in modes: [RunLoop.Mode], of loop: RunLoop, waits: Bool
  ) throws {
    let ticket = BlockTicket(record: record, interpreter: self)
    if waits {
      try loop.performAndWait(in: modes) { ticket.run() }
    } else {
      try loop.performAsSource(in: modes) { ticket.run() }
    }
  }

  func dispatch(_ record: ItemRecord) {
    DispatchQueue.main.async { [self] in callout(record, "mainq") }
  }
}

/// Retained only by the queued block: the deinit traces that the block was released.
private final class BlockTicket: Sendable {
  private let record: ItemRecord
  private let interpreter: Interpreter

  init(record: ItemRecord, interpreter: Interpreter) {
    self.record = record
    self.interpreter = interpreter
  }

  deinit {
    guard record.declaration.hasContext else { return }
    interpreter.emit("release \(record.name)", group: .release, on: interpreter.directory.current)
  }

  func run() {
    interpreter.callout(record, "block")
  }
}
