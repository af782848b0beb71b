import Glibc

extension Demo {
  /// An eventfd(2): a number in the kernel that is readable when it is not zero.
  final class EventCounter: Sendable {
    let descriptor: Int32

    init() throws {
      descriptor = try Self.open()
    }

    deinit { close(descriptor) }

    func add(_ number: UInt64) {
      var number = number
      _ = write(descriptor, &number, MemoryLayout<UInt64>.size)
    }

    /// The number, which is zero afterwards.
    func take() -> UInt64 {
      var number: UInt64 = 0
      let count = read(descriptor, &number, MemoryLayout<UInt64>.size)
      return count == MemoryLayout<UInt64>.size ? number : 0
    }

    /// <sys/eventfd.h> is not part of the Glibc module, so the function is looked up by name.
    private static func open() throws -> Int32 {
      typealias EventFD = @convention(c) (UInt32, Int32) -> Int32
      guard let symbol = dlsym(nil, "eventfd") else { throw SystemError(call: "eventfd", code: ENOSYS) }
      let flags = O_CLOEXEC | O_NONBLOCK  // EFD_CLOEXEC and EFD_NONBLOCK are defined as these
      let descriptor = unsafeBitCast(symbol, to: EventFD.self)(0, flags)
      guard descriptor >= 0 else { throw SystemError(call: "eventfd", code: errno) }
      return descriptor
    }
  }
}
