internal import CRunLoopCore
internal import Synchronization

/// What is asked of the system about threads.
enum ThreadCalls {
  private static let longestName = 15

  /// Names the calling thread. What is longer than the system's 15 bytes is cut at a character.
  static func setName(_ name: String) {
    var cut = name
    while cut.utf8.count > longestName { cut.removeLast() }
    _ = rlc_thread_set_name(cut)  // only a name that is too long is refused, and this one is cut
  }

  /// The process that has asked for the barrier << 1 | whether there is one.
  private static let barrierAnswer = Atomic<UInt64>(0)

  /// Whether there is a barrier in all threads: asked once a process, with its first loop.
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

  /// A full barrier in all threads of the process. False if the system refuses it.
  static func barrier() -> Bool { rlc_thread_barrier() == 0 }

  /// What was stored before it stays before what is loaded after it, in the program; no instruction.
  @inline(__always)
  static func lightBarrier() { rlc_thread_light_barrier() }
}
