/// The open scopes of one thread, as one stack of entries. A scope is the height of the stack at which it began.
///
/// A handle to storage that the thread's record owns. Draining an empty scope, as most passes do, only reads a count.
struct ScopeStack {
  enum Entry {
    case object(AnyObject)
    case action(() -> Void)
  }

  private let entries: UnsafeMutablePointer<ContiguousArray<Entry>>

  static func make() -> ScopeStack {
    ScopeStack(entries: .make([]))
  }

  func destroy() { entries.destroy() }

  /// The height of the stack, which a caller reads to open a scope.
  var height: Int { entries.pointee.count }

  func push(_ entry: Entry) { entries.pointee.append(entry) }

  /// Empties the scope that began at `height`, the last entry first, including entries that are added meanwhile.
  func drain(to height: Int) {
    if entries.pointee.count > height { drainEntries(to: height) }
  }

  @inline(never)
  private func drainEntries(to height: Int) {
    while entries.pointee.count > height {
      // Removed first, since running or releasing the entry may use this stack.
      switch entries.pointee.removeLast() {
      case .object: break
      case .action(let action): _ = __RUNLOOPKIT_IS_DRAINING_A_SCOPE__(action)
      }
    }
  }
}
