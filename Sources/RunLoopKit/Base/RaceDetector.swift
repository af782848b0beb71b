internal import CRunLoopCore

/// ThreadSanitizer in a host in C, which is compiled with it, as this module is not: its runtime does not see the locks
/// and atomics here. So the model for C tells it of each hand-over. A module that is compiled with it needs no words.
package enum RaceDetector {
  /// Of messages, from which nothing leads to who sent them.
  package static let messages: any AnyObject & Sendable = Mark()
  /// Of threads that are set up.
  package static let threads: any AnyObject & Sendable = Mark()

  private final class Mark: Sendable {}

  private static let isHere = rlc_kit_has_race_detector()

  /// What this thread has done comes before what follows `takeOver` of the same object.
  @inline(__always)
  package static func handOver(_ object: AnyObject) { if isHere { release(object) } }

  @inline(__always)
  package static func takeOver(_ object: AnyObject) { if isHere { acquire(object) } }

  @inline(never)
  private static func release(_ object: AnyObject) {
    rlc_kit_race_release(Unmanaged.passUnretained(object).toOpaque())
  }

  @inline(never)
  private static func acquire(_ object: AnyObject) {
    rlc_kit_race_acquire(Unmanaged.passUnretained(object).toOpaque())
  }
}
