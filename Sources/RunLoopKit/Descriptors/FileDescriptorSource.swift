internal import Synchronization

extension RunLoop {
  /// Calls a handler when a descriptor is ready; the handler reads and writes.
  ///
  /// Nested runs do not call the source while its own callout is on the stack [RLK-FD-3].
  ///
  /// An end is a hang-up, an error, or the end of the file with nothing left to read. The loop calls the source once
  /// each time that an end begins [RLK-FD-2, RLK-FD-10]. The source stays a member, so the loop calls it again when a
  /// FIFO has its next writer, and for each datagram that is refused. If several sources share the descriptor, the loop
  /// calls each of them once, in each mode and in a host's loop. It does so even if the end begins while the source is
  /// paused by its limit [RLK-FD-43]. While an end lasts the source is edge-triggered; the first event that reports
  /// more than the end makes it level-triggered again. If the process has no descriptor left for watching an end this
  /// way (`EMFILE`), the loop may report an end twice, not more [RLK-FD-44].
  ///
  /// The loop suspends a source, that is, takes its descriptor out of epoll, while its callout runs the loop, and while
  /// its limit pauses it. If the kernel refuses to watch the descriptor again afterwards, or refuses a change
  /// (`ENOSPC`, `ENOMEM`), the loop calls the source once with `error` alone. Setting `interest` tries again. The loop
  /// also tries again, less and less often, at last once a second [RLK-FD-29, RLK-FD-30, RLK-FD-31, RLK-FD-32,
  /// RLK-FD-35].
  ///
  /// If several sources of a mode share a descriptor, the loop calls all of them, one a pass, in the order of adding,
  /// each with what it is interested in. It suspends and removes each one without the others [RLK-FD-8, RLK-FD-9,
  /// RLK-FD-25]. Sources on several numbers of one file (dup(2)) do not affect each other.
  ///
  /// To close a descriptor while its source is a member is a mistake, and does no harm: the source gets no further
  /// event, and no event reaches another source that has the number by then [RLK-FD-5]. If the loop notices the close,
  /// because the kernel refuses a change, it calls the source once with `error` alone; do not read then, since the
  /// number may belong to another file [RLK-FD-34]. There are two exceptions. While a duplicate stays open, this source
  /// still gets its events. A source that is suspended when its descriptor is closed gets, after the suspension, the
  /// events of the next file with that number [RLK-FD-19, RLK-FD-20]. Source: `CFFileDescriptorRef`.
  ///
  /// ```swift
  /// import Glibc
  /// let loop = RunLoop.current
  /// var ends: [Int32] = [-1, -1]
  /// pipe(&ends)
  /// let reader = try RunLoop.FileDescriptorSource(fileDescriptor: ends[0], interest: .readable) { source, _ in
  ///   var bytes = [UInt8](repeating: 0, count: 16)
  ///   print(read(source.fileDescriptor, &bytes, bytes.count), "bytes")  // prints 5 bytes
  ///   loop.stop()
  /// }
  /// try loop.add(reader)
  /// write(ends[1], "hello", 5)
  /// try loop.run()
  /// ```
  public final class FileDescriptorSource: DescriptorItem, @unchecked Sendable {
    /// What a source waits for, and what its handler is called with.
    public struct Readiness: OptionSet, Hashable, Sendable, CustomStringConvertible {
      /// The bits of the C core: `RLC_READABLE`, `RLC_WRITABLE`, `RLC_HANGUP`, `RLC_ERROR`.
      public let rawValue: UInt32

      /// Creates a set from the bits of the C core.
      public init(rawValue: UInt32) { self.rawValue = rawValue }

      /// A read would not block: there is data, or the end of file.
      public static let readable = Readiness(rawValue: 1)
      /// A write of some bytes would not block.
      public static let writable = Readiness(rawValue: 2)
      /// The other end is gone or, if the source is interested in reading, has stopped writing. Reported whatever the
      /// interest is [RLK-FD-11]. Bytes may be left, so read until the end of the file.
      public static let hangup = Readiness(rawValue: 4)
      /// The descriptor has an error pending, or the reading end is gone. Reported whatever the interest is.
      public static let error = Readiness(rawValue: 8)

      /// Out-of-band data of a socket; for other files what poll(2) reports as `POLLPRI` [RLK-PRESSURE-4].
      public static let priority = Readiness(rawValue: 128)

      /// The bits that a handler may wait for or receive.
      static let all: UInt32 = 0x8F
      /// The bits that a handler receives whatever its interest is.
      static let always: UInt32 = 0x0C

      /// The names of the bits that are set.
      public var description: String {
        let names: [(Readiness, String)] = [
          (.readable, "readable"), (.writable, "writable"), (.hangup, "hang-up"), (.error, "error"),
          (.priority, "priority"),
        ]
        let named = names.filter { contains($0.0) }.map(\.1)
        return named.isEmpty ? "nothing" : named.joined(separator: "|")
      }
    }

    /// When the handler is called.
    public enum Trigger: Sendable {
      /// As long as the descriptor is ready, pass after pass [RLK-FD-1].
      case level
      /// Once for each change, so the handler must read or write until that would block. What becomes ready while the
      /// handler runs is not lost [RLK-FD-6]. If a level-triggered source shares the descriptor, this source is
      /// level-triggered, too. It may be called once more when another source on the descriptor is removed, suspended,
      /// or changes its interest.
      case edge
      /// Once; then the source is disarmed until `interest` is set, which its own handler may do [RLK-FD-7].
      case oneShot

      /// The bits of the core.
      var bits: UInt8 {
        switch self {
        case .level: 0
        case .edge: PortRegistration.edge
        case .oneShot: PortRegistration.oneShot
        }
      }
    }

    /// Who closes the descriptor.
    public enum Ownership: Sendable {
      /// The caller, which keeps it open while the source is a member of a mode.
      case borrowed
      /// The source. It closes the descriptor once: when it was invalidated or is destroyed, is a member of no mode,
      /// and none of its callouts runs [RLK-FD-14, RLK-FD-15, RLK-FD-17, RLK-FD-24, RLK-REMOVE-9]. The end of its
      /// loop's thread removes the source from its modes, which destroys it if it has no other reference; if its own
      /// callout has ended the thread, the source is invalidated [RLK-FD-16, RLK-END-11]. An initialiser that throws
      /// closes nothing. If `add` throws, the source still owns the descriptor, and closes it when it is released. A
      /// method of `Local` that cannot add its source closes the descriptor, too.
      ///
      /// To hand a descriptor over is a promise: while the source is a member, only its callouts read the descriptor or
      /// a duplicate of it, and no other code closes it. Any code may write. In return the loop, when it has found the
      /// descriptor readable, calls the source without asking the kernel again. For a borrowed descriptor it asks again
      /// before each callout except the first after a wait [RLK-FD-38].
      ///
      /// If other code reads the descriptor all the same, the source may be called with nothing to read, but misses
      /// nothing. A read would block then, so make the descriptor non-blocking. If other code closes the descriptor,
      /// the loop may still call the source for what it had found before [RLK-FD-39].
      ///
      /// The loop asks again if the source itself may have read meanwhile: if it is in several modes or loops, shares
      /// its descriptor with another source of its mode, was added in its own callout, or if its interest was set since
      /// its last event. It always asks about writing and about the end of the file [RLK-FD-40]. It also asks about a
      /// descriptor that is neither a pipe nor a socket, since such a descriptor may stop being ready without a read: a
      /// timerfd may be set again [RLK-FD-41].
      case closesWhenInvalidated
    }

    /// What becomes of a descriptor that the kernel does not wait for: a regular file, /dev/null.
    public enum Unpollable: Sendable {
      /// `add` throws `.system` with `EPERM`.
      case refuse
      /// The source counts as ready for all it is interested in, pass after pass, and takes its turn behind the other
      /// ready ports [RLK-FD-13]. The loop does not sleep meanwhile: take the interest away when there is nothing to
      /// do. The loop does not notice if the descriptor is closed.
      case alwaysReady
    }

    @exclusivity(unchecked) final var body: Body
    /// The descriptor. If it is the caller's, the caller keeps it open while the source is a member of a mode.
    public var fileDescriptor: Int32 { descriptor }

    /// - Parameters:
    ///   - fileDescriptor: What to watch; at least 0, and open when the source is added.
    ///   - interest: For which readiness the loop calls `body`. For hang-ups and errors it always does.
    ///   - trigger: Whether `body` is called while the descriptor is ready, once for each change, or once.
    ///   - ownership: Whether the source closes the descriptor.
    ///   - unpollable: What becomes of a descriptor that the kernel cannot watch.
    ///   - order: Ignored: descriptors are served in the order of readiness.
    ///   - limit: How often the loop may call the source; nil sets no limit. After a pause the loop calls an
    ///     edge-triggered source again if it is ready.
    ///   - body: Called on the thread of the loop that runs, with no lock held.
    /// - Throws: A `RunLoopError`: `.system` with `EBADF` if the descriptor is negative. With `.alwaysReady` also
    ///   `EBADF` if it is not open, and `EISDIR` for a folder; without, `add` refuses a descriptor that is not open
    ///   (`EBADF`) or cannot be waited for (`EPERM`) [RLK-FD-12].
    public convenience init(
      fileDescriptor: Int32, interest: Readiness, trigger: Trigger = .level, ownership: Ownership = .borrowed,
      unpollable: Unpollable = .refuse, limit: RateLimit? = nil, order: Int = 0,
      _ body: @escaping @Sendable (FileDescriptorSource, Readiness) -> Void
    ) throws {
      try self.init(
        fileDescriptor: fileDescriptor, interest: interest, trigger: trigger, ownership: ownership,
        unpollable: unpollable, limit: limit, order: order, onlyLoop: nil, unchecked: body)
    }

    convenience init(
      fileDescriptor: Int32, interest: Readiness, trigger: Trigger, ownership: Ownership, unpollable: Unpollable,
      limit: RateLimit?, order: Int, onlyLoop: RunLoop?,
      unchecked body: @escaping (FileDescriptorSource, Readiness) -> Void
    ) throws {
      var descriptors: ItemDescriptors?
      if limit != nil || ownership != .borrowed || unpollable != .refuse {
        descriptors = try Self.descriptors(of: fileDescriptor, ownership, unpollable, limit)
      }
      try Self.check(fileDescriptor)
      self.init(
        fileDescriptor, interest: Self.bits(of: interest) | UInt32(trigger.bits | PortRegistration.shared),
        order: order, onlyLoop: onlyLoop, descriptors: descriptors, body)
    }

    // Not throwing: an initialiser that may throw while it holds the closure counts a reference.
    private init(
      _ fileDescriptor: Int32, interest: UInt32, order: Int, onlyLoop: RunLoop?, descriptors: ItemDescriptors?,
      _ body: @escaping (FileDescriptorSource, Readiness) -> Void
    ) {
      self.body = Body(body)
      super.init(
        .descriptorSource, fileDescriptor: fileDescriptor, interest: interest, order: order, onlyLoop: onlyLoop,
        descriptors: descriptors)
    }

    @inline(never)
    private static func descriptors(
      of descriptor: Int32, _ ownership: Ownership, _ unpollable: Unpollable, _ limit: RateLimit?
    ) throws(RunLoopError) -> ItemDescriptors {
      let standIn = unpollable == .alwaysReady ? try StandIn.make(for: descriptor) : nil
      let isOwned = ownership == .closesWhenInvalidated && descriptor >= 0
      return ItemDescriptors(
        owned: isOwned ? OwnedDescriptor(descriptor) : nil, standIn: standIn, limiter: limit.map { RateLimiter($0) })
    }

    /// What the source may receive now: its interest, hang-ups and errors.
    var interestNow: UInt32 { UInt32(wanted.load(ordering: .relaxed)) & Readiness.all | Readiness.always }

    private static func bits(of interest: Readiness) -> UInt32 { interest.rawValue & Readiness.all }

    /// What the source waits for, besides hang-ups and errors. Setting it, also to the same value, re-arms a one-shot
    /// source. It also causes another call if the descriptor is at an end, or if the source is edge-triggered and
    /// ready. If the source's own callout sets it, the end that the callout was called with is not reported again,
    /// unless the interest has become larger [RLK-FD-42]. A change takes effect at once, also while a loop sleeps
    /// [RLK-FD-4, RLK-FD-33]. If the kernel refuses it, the interest stays as it was; `setInterest` also throws.
    ///
    /// - Complexity: One system call for each mode, except the modes in which nothing changes [RLK-FD-22].
    public var interest: Readiness {
      get { Readiness(rawValue: UInt32(wanted.load(ordering: .acquiring)) & Readiness.all) }
      set { try? setInterest(newValue) }
    }

    /// Sets `interest`, and throws if the kernel refuses.
    ///
    /// - Throws: A `RunLoopError`: `.forked`; `.system` with `EBADF` if the descriptor was closed, or with `ENOMEM` or
    ///   `ENOSPC`. After a `.system` error the interest is what it was, in all modes; a one-shot source may have been
    ///   armed in some [RLK-FD-23].
    /// - Thread: Any.
    public func setInterest(_ interest: Readiness) throws {
      guard !isForked else { throw RunLoopError.forked }
      let old = wanted.load(ordering: .acquiring)
      let new = UInt8(Self.bits(of: interest)) | (old & ~UInt8(Readiness.all))
      wanted.store(new, ordering: .sequentiallyConsistent)
      do {
        try registerInterestInLoops()
      } catch {
        // Restores the old interest, unless another thread has set another one since.
        _ = wanted.compareExchange(expected: new, desired: old, ordering: .sequentiallyConsistent)
        try? registerInterestInLoops()
        throw error
      }
    }

    private func registerInterestInLoops() throws(RunLoopError) {
      var failure: RunLoopError?
      for loop in withLinks({ $0.loops }) {
        do throws(RunLoopError) { try loop.interestChanged(self) } catch { failure = error }
      }
      if let failure { throw failure }
    }

    override func serve(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
      let ready = ready & interestNow  // an observer of after-waiting may have changed it
      guard ready != 0, loop.beginServing(self, in: mode) else { return false }
      if let counters = loop.counters {
        serveCounted(ready, counters, on: loop)
      } else {
        __RUNLOOPKIT_IS_CALLING_OUT_TO_A_DESCRIPTOR_SOURCE__(self, Readiness(rawValue: ready))
      }
      loop.endServing(self)
      return true
    }

    override func releaseBody() {
      var released = Body { _, _ in }
      swap(&body, &released)
    }

    override var words: String {
      "<descriptor source\(labelText) order \(order), descriptor \(descriptor), \(interest), \(isValid ? "valid" : "invalid")>"
    }
  }
}
