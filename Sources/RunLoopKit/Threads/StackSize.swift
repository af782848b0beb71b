internal import RunLoopLibc

extension RunLoop.Thread {
  /// The smallest stack that a thread may have: 64 KiB, which leaves callouts about 30 KiB. Swift code that prints or
  /// formats needs more, and so do builds with sanitizers [RLK-RESIDENT-30].
  public static let minimumStackSize = 65_536
}

/// Computes the stack size for pthread_attr_setstacksize(3).
enum StackSize {
  /// Adds the size of thread-local variables, which lie on each thread's stack, and rounds up to whole pages.
  static func rounded(_ wanted: Int) throws(RunLoopError) -> Int {
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let (size, isTooLarge) = wanted.addingReportingOverflow(threadLocalSize + page - 1)
    guard wanted >= RunLoop.Thread.minimumStackSize, !isTooLarge else {
      let limit = isTooLarge ? "no address space has room for it" : "a loop needs \(RunLoop.Thread.minimumStackSize)"
      throw .system(EINVAL, "stackSize is \(wanted) bytes; \(limit)")
    }
    return size / page * page
  }

  /// The size of the thread-local variables on a stack, by a private function of glibc; 0 with another C library.
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
