internal import RunLoopLibc
internal import Synchronization

extension RunLoop.Message {
  /// The owner of an open descriptor: closes it when the owner is destroyed, unless `take()` has removed it before.
  ///
  /// A message takes the descriptor along: when it has been sent, the sender's object is empty, and the receiver's has
  /// it [RLK-MSG-31]. A send that throws leaves it where it was.
  /// - Thread: Any, for all members.
  public final class Descriptor: Sendable, CustomStringConvertible {
    /// -1: taken, or sent.
    private let number: Atomic<Int32>
    /// Not 0: no program has it, but a queue or a connection of the process of this generation. A child of fork(2)
    /// closes it where it begins, since nothing else would close it there.
    private let hiddenIn = Atomic<UInt32>(0)

    /// Takes over the descriptor: other code must not close it from now on.
    /// - Throws: A `RunLoopError`: `.system` with `EBADF` if the number is negative. Whether it is open shows when it
    ///   is used.
    public init(owning fileDescriptor: Int32) throws {
      guard fileDescriptor >= 0 else {
        throw RunLoopError.system(EBADF, DescriptorWords.isNone(fileDescriptor))
      }
      number = Atomic(fileDescriptor)
    }

    /// Makes a second number for the same open file, close-on-exec; the first stays the caller's.
    /// - Throws: A `RunLoopError.system`: `EBADF`, `EMFILE`.
    public init(duplicating fileDescriptor: Int32) throws {
      let duplicate = fcntl(fileDescriptor, F_DUPFD_CLOEXEC, 3)
      if duplicate < 0, RunLoopLibc.errno == EINVAL { RunLoopLibc.errno = EMFILE }  // the limit is not above 3
      number = Atomic(
        try RunLoopError.checkDescriptor(
          duplicate, "fcntl",
          fileDescriptor < 0
            ? DescriptorWords.isNone(fileDescriptor) : "to duplicate descriptor \(fileDescriptor)"))
    }

    /// To be filled when the message is sent.
    package init() { number = Atomic(-1) }

    /// The number, for use while this object lives and the descriptor is neither taken nor sent; -1 after that.
    public var fileDescriptor: Int32 { number.load(ordering: .acquiring) }

    /// The number, which is the caller's to close from now on [RLK-MSG-32]. Once.
    /// - Throws: A `RunLoopError`: `.system` with `EBADF` if it was taken or sent before.
    public func take() throws -> Int32 {
      guard let taken = moveOut() else { throw RunLoopError.system(EBADF, Self.isEmpty) }
      return taken
    }

    /// A second owner of the same open file, with a number of its own.
    /// - Throws: A `RunLoopError.system`: `EBADF` if it was taken or sent, `EMFILE`.
    public func duplicate() throws -> Descriptor {
      let descriptor = fileDescriptor
      guard descriptor >= 0 else { throw RunLoopError.system(EBADF, Self.isEmpty) }
      return try Descriptor(duplicating: descriptor)
    }

    /// Words for an error.
    static let isEmpty = "the descriptor was taken, or sent, before"

    /// Nil if it is empty.
    package func moveOut() -> Int32? {
      appear()
      let taken = number.exchange(-1, ordering: .acquiringAndReleasing)
      return taken < 0 ? nil : taken
    }

    /// Stores the number in an empty object, which no other thread fills.
    package func moveIn(_ fileDescriptor: Int32) { number.store(fileDescriptor, ordering: .releasing) }

    // MARK: Out of the program's sight

    /// Until it appears, a child of fork(2) does not keep it. If the list has no memory, children keep it.
    package func hide() {
      guard fileDescriptor >= 0, Unshared.section({ Unshared.add(fileDescriptor) }) >= 0 else { return }
      hiddenIn.store(Kernel.forkGeneration, ordering: .releasing)
    }

    /// Moves a number in that is hidden already.
    package func moveIn(hidden fileDescriptor: Int32) {
      moveIn(fileDescriptor)
      hiddenIn.store(Kernel.forkGeneration, ordering: .releasing)
    }

    /// The number of a hidden one, which stays hidden. Nil if it is empty, or another process's.
    package func moveOutHidden() -> Int32? {
      guard hiddenIn.exchange(0, ordering: .acquiringAndReleasing) == Kernel.forkGeneration else { return nil }
      return moveOut()
    }

    /// It is the program's now, and its children keep it. A child that finds one of its parent has none.
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

    /// The number.
    public var description: String { "descriptor \(fileDescriptor)" }
  }
}
