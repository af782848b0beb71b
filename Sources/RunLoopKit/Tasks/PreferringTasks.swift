/// The tasks that prefer an executor, as far as their jobs have shown it. Used by the executor's thread only.
///
/// An executor that runs an actor's job must say whether it also runs the job as the task's preferred executor. The
/// runtime does not say whether the task prefers it. At each call in the job, the runtime compares the executors that
/// were named with those that the task wants for the function. If one is missing or one too many was named, the runtime
/// enqueues the job again at each call, even if both functions are on one executor.
struct PreferringTasks: ~Copyable {
  /// A power of two.
  private static let places = 64
  /// The tasks' addresses, each at the index that its bits choose; allocated with the first. A task replaces another
  /// one at its index. A replaced task costs one more job, and so does a new task at the address of an ended one.
  private var tasks: UnsafeMutablePointer<UInt>?

  func contains(_ task: UInt) -> Bool { tasks.map { $0[Self.place(of: task)] == task } ?? false }

  mutating func insert(_ task: UInt) { (tasks ?? make())[Self.place(of: task)] = task }

  /// Corrects a wrong guess: adds the task if it is not here, else removes it.
  mutating func correct(_ task: UInt) {
    if contains(task) { (tasks ?? make())[Self.place(of: task)] = 0 } else { insert(task) }
  }

  @inline(never)
  private mutating func make() -> UnsafeMutablePointer<UInt> {
    let made = UnsafeMutablePointer<UInt>.allocate(capacity: Self.places)
    made.initialize(repeating: 0, count: Self.places)
    tasks = made
    return made
  }

  /// The high bits of a product, because the lowest bits of addresses are equal (multiplicative hashing: Knuth, The Art
  /// of Computer Programming, volume 3, 6.4).
  private static func place(of task: UInt) -> Int {
    Int(truncatingIfNeeded: (UInt64(task) &* 0x9E37_79B9_7F4A_7C15) >> 58)
  }

  deinit { tasks?.deallocate() }
}
