internal import CRunLoopCore

/// A C program may be compiled with ThreadSanitizer while RunLoopKit's modules are not. ThreadSanitizer then sees none
/// of their locks and atomics, so the C functions' bodies report each hand-over between threads. If the modules are
/// compiled with ThreadSanitizer, it needs no reports.
enum RaceDetector {
  /// Stands for all messages: sender and receiver of a message have no other object in common.
  static let messages: any AnyObject & Sendable = Mark()
  /// Stands for the set-up of all threads.
  static let threads: any AnyObject & Sendable = Mark()

  private final class Mark: Sendable {}

  private static let isHere = rlc_kit_has_race_detector()

  /// Reports that what this thread has done comes before what follows `takeOver` of the same object.
  static func handOver(_ object: AnyObject) { if isHere { release(object) } }

  static func takeOver(_ object: AnyObject) { if isHere { acquire(object) } }

  @inline(never)
  private static func release(_ object: AnyObject) {
    rlc_kit_race_release(Unmanaged.passUnretained(object).toOpaque())
  }

  @inline(never)
  private static func acquire(_ object: AnyObject) {
    rlc_kit_race_acquire(Unmanaged.passUnretained(object).toOpaque())
  }
}
