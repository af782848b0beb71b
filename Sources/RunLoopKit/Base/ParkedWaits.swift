internal import Synchronization

/// The waits of threads whose kernel has `turns`. A thread that changes the word of a wait ends the wait, even if its
/// own kernel has another `TurnTaking`, or none.
final class ParkedWaits: ProcessWideObject {
  private struct Wait {
    let word: UInt
    let turns: any TurnTaking
  }

  private let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// The number of waits, so that an empty table costs one load.
  private let count = Atomic<Int>(0)
  private nonisolated(unsafe) var waits: [Wait] = []

  private static let table = ProcessWide<ParkedWaits>()

  /// Puts the wait into the table, calls `turns.wait`, and takes the wait out again. A thread that changes the word
  /// after the call of `isUnchanged` finds the wait in the table.
  static func wait(
    on word: UInt, by turns: any TurnTaking, until deadline: UInt64, for purpose: String, while isUnchanged: () -> Bool
  ) {
    let table = table.current(ParkedWaits.init)
    table.lock.withLock {
      table.waits.append(Wait(word: word, turns: turns))
      table.count.add(1, ordering: .sequentiallyConsistent)
    }
    turns.wait(on: word, until: deadline, for: purpose, while: isUnchanged)
    table.lock.withLock {
      guard let index = table.waits.firstIndex(where: { $0.word == word && $0.turns === turns }) else { return }
      table.waits.remove(at: index)
      table.count.subtract(1, ordering: .sequentiallyConsistent)
    }
  }

  /// Wakes the waits on the word, which has changed.
  static func wake(_ word: UInt) {
    guard let table = table.existing, table.count.load(ordering: .sequentiallyConsistent) > 0 else { return }
    let sleepers = table.lock.withLock { table.waits.filter { $0.word == word } }
    for sleeper in sleepers { sleeper.turns.wake(word) }
  }
}
