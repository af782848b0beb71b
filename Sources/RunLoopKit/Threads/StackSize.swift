internal import RunLoopLibc

extension RunLoop.Thread {
  /// The smallest stack that a thread may ask for: 64 KiB, with which a loop runs and its callouts have some 30 KiB.
  /// Swift code that prints or formats, and builds with sanitizers, want more [RLK-RESIDENT-30].
  public static let minimumStackSize = 65_536
}

/// How much stack the system is asked for.
enum StackSize {
  /// The thread-local variables of the program and its libraries lie on each thread's stack, besides what is wanted; in
  /// whole pages.
  static func rounded(_ wanted: Int) throws(RunLoopError) -> Int {
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let (size, isTooLarge) = wanted.addingReportingOverflow(threadLocalSize + page - 1)
    guard wanted >= RunLoop.Thread.minimumStackSize, !isTooLarge else {
      let limit = isTooLarge ? "no address space has room for it" : "a loop needs \(RunLoop.Thread.minimumStackSize)"
      throw .system(EINVAL, "stackSize is \(wanted) bytes; \(limit)")
    }
    return size / page * page
  }

  /// By the function of glibc that its own libraries ask, if there is one.
  private static let threadLocalSize: Int = {
    guard let function = dlsym(nil, "__pthread_get_minstack") else { return 0 }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    typealias MinimumStack = @convention(c) (UnsafePointer<pthread_attr_t>) -> Int
    let least = unsafeBitCast(function, to: MinimumStack.self)(&attributes)
    return max(least - Int(sysconf(Int32(_SC_THREAD_STACK_MIN))), 0)
  }()
}
