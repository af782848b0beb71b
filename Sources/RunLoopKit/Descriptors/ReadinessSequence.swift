extension RunLoop {
  /// What a descriptor is ready for.
  public typealias Readiness = FileDescriptorSource.Readiness
  /// What `readiness(of:for:ownership:unpollable:in:)` makes: each element says that the descriptor was ready.
  public typealias ReadinessSequence = EventSequence<Readiness>

  /// A sequence of a descriptor's readiness, for tasks. Its `FileDescriptorSource` is in the mode while a task waits.
  ///
  /// The descriptor is level-triggered: an element says that it was ready a moment ago, and a task that does not read
  /// gets the next element at once. A hang-up does not end the sequence, because a hang-up can pass. While it lasts, a
  /// task gets `.hangup` again at once; to follow a FIFO, use a `FileDescriptorSource`.
  /// - Parameters:
  ///   - fileDescriptor: An open descriptor.
  ///   - interest: What to wait for. `.hangup` and `.error` are delivered in any case.
  ///   - ownership: Whether the descriptor is closed when the sequence is released.
  ///   - unpollable: What to do with a descriptor that the kernel cannot watch. Standard input is often one.
  ///   - mode: The source's mode. The loop delivers nothing while it does not run in this mode.
  /// - Throws: What `FileDescriptorSource.init` throws, without closing an owned descriptor. Also `.loopEnded` and
  ///   `.forked`, after closing it.
  /// - Thread: Any. - Complexity: Two system calls an element.
  public func readiness(
    of fileDescriptor: Int32, for interest: FileDescriptorSource.Readiness = .readable,
    ownership: FileDescriptorSource.Ownership = .borrowed, unpollable: FileDescriptorSource.Unpollable = .refuse,
    in mode: Mode = .default
  ) throws -> ReadinessSequence {
    try EventSequence(of: self, in: mode) { feed in
      let turn = feed.makeTurn()
      feed.append(
        try FileDescriptorSource(
          fileDescriptor: fileDescriptor, interest: interest, ownership: ownership, unpollable: unpollable
        ) { _, ready in
          // The loop reports an end once, so each task that waits gets it.
          if ready.isDisjoint(with: [.hangup, .error]) { turn.deliver(ready) } else { turn.deliverToAll(ready) }
        })
    }
  }
}
