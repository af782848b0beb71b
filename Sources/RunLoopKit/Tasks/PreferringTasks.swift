/// The tasks that prefer an executor, as far as their jobs have shown it. Used on the executor's thread alone.
///
/// The runtime does not tell an executor whether the task of an actor's job prefers it. But it keeps what the executor
/// says: at each call it compares the executors of the job that runs with those that the task wants for the function.
/// If the executor has said too much or too little, they differ even if both functions are on one executor, and the
/// runtime enqueues the job anew at each call.
struct PreferringTasks: ~Copyable {
  /// A power of two.
  private static let places = 64
  /// Their addresses, each in the place that its bits choose; made with the first. A task takes over a place that is
  /// taken. A task that is forgotten costs one job more, and so does another one at the address of a task that is over.
  private var tasks: UnsafeMutablePointer<UInt>?

  @inline(__always)
  func contains(_ task: UInt) -> Bool { tasks.map { $0[Self.place(of: task)] == task } ?? false }

  @inline(__always)
  mutating func insert(_ task: UInt) { (tasks ?? make())[Self.place(of: task)] = task }

  /// It is not what it was taken for.
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

  /// The high bits of a product: addresses differ in all but their lowest bits (Knuth, The Art of Computer Programming,
  /// volume 3, 6.4: multiplicative hashing).
  @inline(__always)
  private static func place(of task: UInt) -> Int {
    Int(truncatingIfNeeded: (UInt64(task) &* 0x9E37_79B9_7F4A_7C15) >> 58)
  }

  deinit { tasks?.deallocate() }
}
