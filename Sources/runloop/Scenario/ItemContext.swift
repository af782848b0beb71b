import Synchronization

/// The context of an item, with the lifetime that contexts have in C: retained when the item is made, and released once
/// at the end. The closure of a timer or an observer retains it; a source retains it until the source is destroyed.
final class ItemContext: Sendable {
  private let record: ItemRecord
  private let interpreter: Interpreter
  private let isReleased = Atomic<Bool>(false)

  init(of record: ItemRecord, in interpreter: Interpreter) {
    self.record = record
    self.interpreter = interpreter
    retain()
  }

  deinit { end() }

  /// Releases the context; further calls do nothing.
  func end() {
    if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { release() }
  }

  /// Retains the context around a callout, as a timer does (rule 55).
  func during(_ callout: () -> Void) {
    retain()
    callout()
    release()
  }

  private func retain() { interpreter.emit("retain \(record.name)", on: interpreter.directory.current) }

  private func release() {
    interpreter.emit("release \(record.name)", group: .release, on: interpreter.directory.current)
  }
}
