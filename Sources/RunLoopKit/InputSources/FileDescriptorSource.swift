internal import Synchronization

extension RunLoop {
  /// A descriptor's readiness, level-triggered: the handler does the reading and writing.
  ///
  /// While its own callout is on the stack it is not served by nested runs. After a hang-up or end of file with nothing
  /// left to read it is called once and rests until `interest` is set again. Of two sources with one descriptor in a mode the
  /// later one is called (A16): use one with both interests. Source: `CFFileDescriptorRef`.
  public final class FileDescriptorSource: DescriptorItem, @unchecked Sendable {
    /// What the handler wants to know, or is told.
    public struct Readiness: OptionSet, Hashable, Sendable, CustomStringConvertible {
      /// The bits of the C core: `RLC_READABLE` and its kin.
      public let rawValue: UInt32

      /// From the bits of the C core.
      public init(rawValue: UInt32) { self.rawValue = rawValue }

      /// A read would not block: there is data, or the end of file.
      public static let readable = Readiness(rawValue: 1)
      /// A write of some bytes would not block.
      public static let writable = Readiness(rawValue: 2)
      /// The other end is gone. Always reported.
      public static let hangup = Readiness(rawValue: 4)
      /// The descriptor has an error pending, or the reading end is gone. Always reported.
      public static let error = Readiness(rawValue: 8)

      /// The names of what is set.
      public var description: String {
        let names: [(Readiness, String)] = [
          (.readable, "readable"), (.writable, "writable"), (.hangup, "hang-up"), (.error, "error"),
        ]
        let named = names.filter { contains($0.0) }.map(\.1)
        return named.isEmpty ? "nothing" : named.joined(separator: "|")
      }
    }

    let body: (FileDescriptorSource, Readiness) -> Void

    /// - Throws: `.systemCall` with `EBADF` if the descriptor is negative. One that is not open (`EBADF`) and a regular file
    ///   (`EPERM`) are refused by `add`.
    public convenience init(
      fileDescriptor: Int32, interest: Readiness, order: Int = 0,
      _ body: @escaping @Sendable (FileDescriptorSource, Readiness) -> Void
    ) throws(RunLoopError) {
      try self.init(fileDescriptor: fileDescriptor, interest: interest, order: order, onlyHost: nil, unchecked: body)
    }

    init(
      fileDescriptor: Int32, interest: Readiness, order: Int, onlyHost: RunLoop?,
      unchecked body: @escaping (FileDescriptorSource, Readiness) -> Void
    ) throws(RunLoopError) {
      self.body = body
      try super.init(
        .descriptorSource, fileDescriptor: fileDescriptor, interest: interest.rawValue, order: order, context: nil,
        onlyHost: onlyHost)
    }

    /// What is waited for; hang-up and error always are. Setting it, also to the same value, wakes a source that rests.
    /// Takes effect at once, also while a loop sleeps.
    public var interest: Readiness {
      get { Readiness(rawValue: UInt32(wanted.load(ordering: .acquiring))) }
      set {
        wanted.store(UInt8(truncatingIfNeeded: newValue.rawValue), ordering: .sequentiallyConsistent)
        guard !isForked else { return }
        for host in withLinks({ $0.map(\.host) }) { try? host.interestChanged(self) }
      }
    }

    public override var description: String {
      "<descriptor source order \(order), descriptor \(fileDescriptor), \(interest), \(isValid ? "valid" : "invalid")>"
    }
  }
}
