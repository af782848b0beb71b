import Glibc
import RunLoopKit

/// What the program has asked for, and what became of each: it happened, or somebody was told that it would not. The rest is
/// lost.
final class Ledger: Sendable {
  private struct Entry {
    var wanted: Int
    var happened = 0
    var refusal: String?
    var isSettled: Bool { happened >= wanted || refusal != nil }
  }

  private struct State {
    var entries: [String: Entry] = [:]
    var isClosed = false
    var whenSettled: (@Sendable () -> Void)?
  }

  private let state = Guarded(State())

  /// `name` shall happen so often. What `ask` throws is its refusal.
  func expect(_ name: String, times: Int = 1, _ ask: () throws -> Void) {
    state.withLock { $0.entries[name] = Entry(wanted: times) }
    do { try ask() } catch { refuse(name, "\(error)") }
  }

  /// It has happened once more; how often in all.
  @discardableResult
  func note(_ name: String) -> Int { change(name) { $0.happened += 1 } }

  /// Somebody was told that it does not happen.
  func refuse(_ name: String, _ reason: String) { change(name) { $0.refusal = reason } }

  @discardableResult
  private func change(_ name: String, _ body: (inout Entry) -> Void) -> Int {
    let (count, settled) = state.withLock { state -> (Int, (@Sendable () -> Void)?) in
      body(&state.entries[name]!)
      let isSettled = state.isClosed && state.entries.values.allSatisfy(\.isSettled)
      return (state.entries[name]!.happened, isSettled ? state.whenSettled : nil)
    }
    settled?()
    return count
  }

  /// All has been asked for: `action` once nothing is open any more, perhaps at once.
  func close(_ action: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.isClosed = true
      state.whenSettled = action
    }
    settle()
  }

  /// The action again, if nothing is open: a nested run may have had it.
  func settle() {
    state.withLock { $0.isClosed && $0.entries.values.allSatisfy(\.isSettled) ? $0.whenSettled : nil }?()
  }

  /// A line each for what was refused, and for what is lost. True if nothing is lost. `said`: what standard error has of it, since
  /// one call has failed.
  func report(_ said: [Substring]) -> Bool {
    state.withLock { state in
      var isComplete = true
      for (name, entry) in state.entries.sorted(by: { $0.key < $1.key }) {
        if let refusal = entry.refusal { print("refused \(name): \(refusal)") }
        guard !entry.isSettled else { continue }
        if let told = said.first {
          print("told \(name): \(told)")
          continue
        }
        isComplete = false
        print("LOST \(name): \(entry.happened) of \(entry.wanted)")
      }
      return isComplete
    }
  }
}
