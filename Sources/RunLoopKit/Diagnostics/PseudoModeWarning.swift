internal import Synchronization

/// The common pseudo mode is no mode to run in (A18).
enum PseudoModeWarning {
  private static let isWarned = Atomic<Bool>(false)

  static func printOnce() {
    guard !isWarned.exchange(true, ordering: .relaxed) else { return }
    Diagnosis.warn("a run loop cannot run in the common pseudo mode; this is printed once.")
  }
}
