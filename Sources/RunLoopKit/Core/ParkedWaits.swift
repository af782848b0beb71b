internal import Synchronization

/// The waits of threads that take turns, by the word that they sleep on: whoever changes the word wakes them, whatever turns
/// it takes itself.
///
/// One table a process: a child of fork(2) makes its own, since another thread may have held the lock of the inherited one.
final class ParkedWaits: Sendable {
  private struct Wait {
    let word: UInt
    let turns: any TurnTaking
  }

  private let lock = Lock()
  /// Of the waits, to pass by an empty table.
  private let count = Atomic<Int>(0)
  private nonisolated(unsafe) var waits: [Wait] = []

  /// An address, retained for ever.
  private static let table = Atomic<UInt>(0)

  private static var made: ParkedWaits? {
    guard let pointer = UnsafeRawPointer(bitPattern: table.load(ordering: .acquiring)) else { return nil }
    // Only retained tables are stored, and none is ever released.
    let made = Unmanaged<ParkedWaits>.fromOpaque(pointer).takeUnretainedValue()
    return made.lock.forkGeneration == Kernel.forkGeneration ? made : nil
  }

  private static var current: ParkedWaits {
    while true {
      if let made { return made }
      let address = table.load(ordering: .acquiring)
      let new = Unmanaged.passRetained(ParkedWaits())
      let (exchanged, _) = table.compareExchange(
        expected: address, desired: UInt(bitPattern: new.toOpaque()), ordering: .sequentiallyConsistent)
      if exchanged { return new.takeUnretainedValue() }
      new.release()
    }
  }

  /// As `turns.wait`. A change that `isUnchanged` does not see finds the wait in the table.
  static func wait(
    on word: UInt, by turns: any TurnTaking, until deadline: UInt64, for purpose: String, while isUnchanged: () -> Bool
  ) {
    let table = current
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

  /// The word has changed.
  static func wake(_ word: UInt) {
    guard let table = made, table.count.load(ordering: .sequentiallyConsistent) > 0 else { return }
    let sleepers = table.lock.withLock { table.waits.filter { $0.word == word } }
    for sleeper in sleepers { sleeper.turns.wake(word) }
  }
}
