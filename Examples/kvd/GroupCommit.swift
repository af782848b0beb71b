import RunLoopKit

/// One fdatasync(2) for all that is written while the descriptors that are ready have their turn.
///
/// A pass serves one descriptor, so before-waiting comes after each: too early.
final class GroupCommit {
  private let store: Store
  private var whenAllAreServed: RunLoop.Commit?
  private var source: RunLoop.Source?
  /// Told whether what was staged is stored now, or lost.
  var onCommit: ((_ isStored: Bool) -> Void)?

  /// More than this does not wait for all that are ready.
  private static let sizeLimit = 4 << 20

  init(_ store: Store, on loop: RunLoop) throws {
    self.store = store
    try loop.assumeOnLoop { local in
      whenAllAreServed = try local.commit(in: .default, at: .afterReady) { [unowned self] in commit() }
      source = try local.source { [unowned self] _ in commit() }
    }
  }

  deinit {
    whenAllAreServed?.invalidate()
    source?.invalidate()
  }

  /// Call it after each change of the store.
  func isNeeded() {
    whenAllAreServed?.setNeeded()
    // Performed in the next pass.
    if store.stagedSize > Self.sizeLimit { source?.signal() }
  }

  func commit() {
    guard store.hasStaged else { return }
    do {
      try store.commit()
      onCommit?(true)
    } catch let lost as Log.Lost {
      // No answer is better than a wrong one.
      Report.note("\(lost)")
      Daemon.exitAtOnce()
    } catch {
      Report.note("\(error)")
      onCommit?(false)
    }
  }
}
