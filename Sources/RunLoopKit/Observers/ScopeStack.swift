/// The open scopes of one thread, as one stack of entries. A scope is the height of the stack at which it began.
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

  /// The height of the stack. To read it is all that opens a scope.
  var height: Int { entries.pointee.count }

  func push(_ entry: Entry) { entries.pointee.append(entry) }

  /// Ends or empties the scope that began at `height`. The last entry comes first, and entries that are added meanwhile
  /// come too.
  @inline(__always)
  func drain(to height: Int) {
    if entries.pointee.count > height { drainEntries(to: height) }
  }

  @inline(never)
  private func drainEntries(to height: Int) {
    while entries.pointee.count > height {
      // The entry is removed before it is run or released, since either may call back.
      switch entries.pointee.removeLast() {
      case .object: break
      case .action(let action): _ = __RUNLOOPKIT_IS_DRAINING_A_SCOPE__(action)
      }
    }
  }
}
