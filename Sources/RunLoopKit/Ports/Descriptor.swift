internal import RunLoopLibc
internal import Synchronization

extension RunLoop.Message {
  /// Owns an open descriptor, and closes it when this object is destroyed, unless `take()` has removed it before.
  ///
  /// Sending a message moves its descriptors: after the send the sender's object is empty, and the receiver's object
  /// owns the descriptor [RLK-MSG-31]. A send that throws moves nothing.
  /// - Thread: Any, for all members.
  public final class Descriptor: Sendable, CustomStringConvertible {
    /// -1 once the descriptor was taken or sent.
    private let number: Atomic<Int32>
    /// Not 0 while the descriptor waits in a queue or a connection. It is then the fork generation of the process that
    /// hides the descriptor from its children. A child of fork(2) closes hidden descriptors when it begins, because no
    /// other code in the child would close them.
    private let hiddenIn = Atomic<UInt32>(0)

    /// Takes ownership of the descriptor: other code must not close it any more.
    /// - Throws: A `RunLoopError`: `.system` with `EBADF` if the number is negative. The call does not check
    ///   that the descriptor is open.
    public init(owning fileDescriptor: Int32) throws {
      guard fileDescriptor >= 0 else {
        throw RunLoopError.system(EBADF, DescriptorWords.isNone(fileDescriptor))
      }
      number = Atomic(fileDescriptor)
    }

    /// Duplicates a descriptor, close-on-exec. The caller still owns the original.
    /// - Throws: A `RunLoopError.system`: `EBADF`, `EMFILE`.
    public init(duplicating fileDescriptor: Int32) throws {
      let duplicate = fcntl(fileDescriptor, F_DUPFD_CLOEXEC, 3)
      if duplicate < 0, RunLoopLibc.errno == EINVAL { RunLoopLibc.errno = EMFILE }  // RLIMIT_NOFILE is 3 or less
      number = Atomic(
        try RunLoopError.checkDescriptor(
          duplicate, "fcntl",
          fileDescriptor < 0
            ? DescriptorWords.isNone(fileDescriptor) : "to duplicate descriptor \(fileDescriptor)"))
    }

    /// Creates an empty object, which a send fills.
    package init() { number = Atomic(-1) }

    /// The descriptor's number; -1 once it was taken or sent. The number is valid only while this object lives.
    public var fileDescriptor: Int32 { number.load(ordering: .acquiring) }

    /// Removes the descriptor from this object and returns it to the caller, who then owns it [RLK-MSG-32].
    /// - Throws: A `RunLoopError`: `.system` with `EBADF` if it was taken or sent before.
    public func take() throws -> Int32 {
      guard let taken = moveOut() else { throw RunLoopError.system(EBADF, Self.isEmpty) }
      return taken
    }

    /// Creates a second owner of the same open file, by duplicating the descriptor.
    /// - Throws: A `RunLoopError.system`: `EBADF` if it was taken or sent, `EMFILE`.
    public func duplicate() throws -> Descriptor {
      let descriptor = fileDescriptor
      guard descriptor >= 0 else { throw RunLoopError.system(EBADF, Self.isEmpty) }
      return try Descriptor(duplicating: descriptor)
    }

    /// Says in errors why the object has no descriptor.
    static let isEmpty = "the descriptor was taken, or sent, before"

    /// Removes the descriptor; nil if there is none.
    package func moveOut() -> Int32? {
      appear()
      let taken = number.exchange(-1, ordering: .acquiringAndReleasing)
      return taken < 0 ? nil : taken
    }

    /// Stores a descriptor in an empty object. No other thread may fill the object at the same time.
    package func moveIn(_ fileDescriptor: Int32) { number.store(fileDescriptor, ordering: .releasing) }

    // MARK: Hiding from children of fork(2)

    /// Makes children of fork(2) close the descriptor, until `appear`. If there is no memory for the entry in the list
    /// of what they close, they inherit the descriptor.
    package func hide() {
      guard fileDescriptor >= 0, Unshared.section({ Unshared.add(fileDescriptor) }) >= 0 else { return }
      hiddenIn.store(Kernel.forkGeneration, ordering: .releasing)
    }

    /// Stores a descriptor that children of fork(2) close already.
    package func moveIn(hidden fileDescriptor: Int32) {
      moveIn(fileDescriptor)
      hiddenIn.store(Kernel.forkGeneration, ordering: .releasing)
    }

    /// Removes a hidden descriptor, which children of fork(2) still close. Nil if there is none, or if this process
    /// inherited the object.
    package func moveOutHidden() -> Int32? {
      guard hiddenIn.exchange(0, ordering: .acquiringAndReleasing) == Kernel.forkGeneration else { return nil }
      return moveOut()
    }

    /// Gives the descriptor to the program, so that children of fork(2) inherit it. In a child of fork(2), an object
    /// that the parent has hidden becomes empty.
    package func appear() {
      guard hiddenIn.load(ordering: .relaxed) != 0 else { return }
      let generation = hiddenIn.exchange(0, ordering: .acquiringAndReleasing)
      if generation == Kernel.forkGeneration {
        Unshared.remove(fileDescriptor)
      } else if generation != 0 {
        number.store(-1, ordering: .releasing)
      }
    }

    deinit {
      let generation = hiddenIn.load(ordering: .acquiring)
      if let number = generation == 0 ? moveOut() : moveOutHidden() { Unshared.close(number) }
    }

    /// The number, in words.
    public var description: String { "descriptor \(fileDescriptor)" }
  }
}
