/// The items whose callouts are on a loop's stack, of those that hold a descriptor of their own for them. [loop]
///
/// Each is retained by the pass that serves it: while its callout runs, and for ever if that ends the thread.
struct ServedOwners {
  private var innermost: Unmanaged<RunLoop.Item>?
  /// Those around it, which nested runs have left, the innermost one's last.
  private var enclosing: ContiguousArray<Unmanaged<RunLoop.Item>> = []

  @inline(__always)
  mutating func begin(_ item: RunLoop.Item) {
    if let innermost { enclose(innermost) }
    innermost = Unmanaged.passUnretained(item)
  }

  @inline(__always)
  mutating func end() {
    innermost = nil
    if !enclosing.isEmpty { innermost = enclosing.removeLast() }
  }

  @inline(never)
  private mutating func enclose(_ item: Unmanaged<RunLoop.Item>) { enclosing.append(item) }

  /// Of a thread that has ended in the innermost one's callout; outermost first.
  mutating func takeAll() -> [RunLoop.Item] {
    var items = enclosing.map { $0.takeUnretainedValue() }
    if let innermost { items.append(innermost.takeUnretainedValue()) }
    self = ServedOwners()
    return items
  }
}
