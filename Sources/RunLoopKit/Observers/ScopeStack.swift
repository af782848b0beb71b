/// The open scopes of one thread, as one stack of entries: a scope is the height at which it began.
///
/// A handle to storage that the thread's record owns: opening a scope and finding it empty must cost next to nothing.
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

  /// Opens a scope: nothing but the height.
  var height: Int { entries.pointee.count }

  func push(_ entry: Entry) { entries.pointee.append(entry) }

  /// Ends, or empties, the scope that began at `height`: last in, first out, also what is added by that.
  @inline(__always)
  func drain(to height: Int) {
    if entries.pointee.count > height { drainEntries(to: height) }
  }

  @inline(never)
  private func drainEntries(to height: Int) {
    while entries.pointee.count > height {
      // Taken out before it is run or released: either may call back.
      switch entries.pointee.removeLast() {
      case .object: break
      case .action(let action): _ = __RUNLOOPKIT_IS_DRAINING_A_SCOPE__(action)
      }
    }
  }
}
