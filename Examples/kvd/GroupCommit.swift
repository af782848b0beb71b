import RunLoopKit

/// One fdatasync(2) for all that is written while the descriptors that are ready have their turn.
///
/// A pass serves one descriptor, so before-waiting comes after each: too early. A timer that is due has its place behind
/// what is ready already, and before what becomes ready later: it is the moment.
final class GroupCommit {
  private let store: Store
  private var timer: RunLoop.Timer?
  private var source: RunLoop.Source?
  /// Told whether what was staged is stored now, or lost.
  var onCommit: ((_ isStored: Bool) -> Void)?

  /// More than this does not wait for all that are ready.
  private static let sizeLimit = 4 << 20
  private static let never = Duration.seconds(1 << 32)

  init(_ store: Store, on loop: RunLoop) throws {
    self.store = store
    // Repeats, so that it stays valid; its own interval never ends.
    try loop.assumeOnLoop { local throws(RunLoopError) in
      timer = try local.timer(after: Self.never, every: Self.never) { [unowned self] _ in commit() }
      source = try local.source { [unowned self] _ in commit() }
    }
  }

  deinit {
    timer?.invalidate()
    source?.invalidate()
  }

  /// Call it after each change of the store.
  func isNeeded(wasClean: Bool) {
    if wasClean { timer?.fireDate = .now }
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
