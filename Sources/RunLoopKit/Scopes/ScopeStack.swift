/// The open scopes of one thread, as one stack of entries: a scope is the height at which it began.
final class ScopeStack {
  enum Entry {
    case object(AnyObject)
    case action(() -> Void)
  }

  private var entries: ContiguousArray<Entry> = []

  /// Opens a scope: nothing but the height.
  var height: Int { entries.count }

  func push(_ entry: Entry) { entries.append(entry) }

  /// Ends, or empties, the scope that began at `height`: last in, first out, also what is added by that.
  func drain(to height: Int) {
    while entries.count > height {
      // Taken out before it is run or released: either may call back.
      switch entries.removeLast() {
      case .object: break
      case .action(let action): __RUNLOOPKIT_IS_DRAINING_A_SCOPE__(action)
      }
    }
  }
}
