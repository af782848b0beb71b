import Synchronization

/// The context of an item, as the C model has it: retained when the item is made, and released once at the end. A timer
/// and an observer have it in their closure, a source keeps it until it is destroyed.
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

  /// Once, however often it is called.
  func end() {
    if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { release() }
  }

  /// As a timer does around each callout (rule 55).
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
