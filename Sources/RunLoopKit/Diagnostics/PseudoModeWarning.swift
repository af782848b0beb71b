internal import Synchronization

/// Warns once that no loop runs in the common pseudo mode (A18 in docs/semantics.md).
enum PseudoModeWarning {
  private static let isWarned = Atomic<Bool>(false)

  static func printOnce() {
    guard !isWarned.exchange(true, ordering: .relaxed) else { return }
    Diagnosis.warn("a run loop cannot run in the common pseudo mode; this is printed once.")
  }
}
