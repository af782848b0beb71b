internal import CRunLoopCore
internal import Synchronization

/// System calls that concern threads.
enum ThreadCalls {
  private static let longestName = 15

  /// Names the calling thread. A name that is longer than the system's 15 bytes is cut at a character.
  static func setName(_ name: String) {
    var cut = name
    while cut.utf8.count > longestName { cut.removeLast() }
    _ = rlc_thread_set_name(cut)  // refuses only names that are too long
  }

  /// The process's `forkGeneration` << 1, plus 1 if the system has a barrier.
  private static let barrierAnswer = Atomic<UInt64>(0)

  /// Whether the system has a barrier for all threads, membarrier(2). A process asks once, with its first loop.
  static var hasBarrier: Bool {
    let process = UInt64(Kernel.forkGeneration)
    var known = barrierAnswer.load(ordering: .relaxed)
    if known >> 1 != process {
      let answer = process << 1 | (rlc_thread_has_barrier() ? 1 : 0)
      let (isFirst, others) = barrierAnswer.compareExchange(expected: known, desired: answer, ordering: .relaxed)
      known = isFirst ? answer : others
    }
    return known & 1 != 0
  }

  /// Makes all threads of the process pass a full barrier. Returns false if the system refuses.
  static func barrier() -> Bool { rlc_thread_barrier() == 0 }

  /// Keeps the compiler from moving later loads before earlier stores. Costs no instruction.
  static func lightBarrier() { rlc_thread_light_barrier() }
}
