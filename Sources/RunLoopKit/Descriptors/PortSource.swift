extension RunLoop {
  /// A port source (version 1) on a counter: an eventfd, a timerfd or a pipe of eight-byte messages.
  ///
  /// The loop reads eight bytes before it calls the source: one callout per message [RLK-PORT-1]. A message wakes the
  /// loop. Port sources are served in the order of readiness, whatever `order` says [RLK-PORT-3]. A message of fewer
  /// bytes is read as a whole, and causes one callout. After an end of file, or a read that fails, the loop calls the
  /// source once; the next writer of a FIFO causes another call [RLK-PORT-5]. The loop reports a failed read
  /// (`diagnostics`), and also, if it notices, a descriptor that was closed while the source was a member [RLK-FD-36].
  /// The descriptor should not block: if loops share the source, a read could wait for a count that another loop has
  /// read. If another thread removes the source between the read and the callout, that message is lost. If a mode has
  /// two sources on one descriptor, the loop calls the one that was added later. Source: `CFRunLoopSourceRef` with a
  /// version 1 context.
  public final class PortSource: DescriptorItem, @unchecked Sendable {
    @exclusivity(unchecked) final var body: Body
    /// The descriptor, which the caller keeps open while the source is a member of a mode.
    public var fileDescriptor: Int32 { descriptor }

    /// - Parameters:
    ///   - fileDescriptor: The counter or pipe to read from; at least 0, and open when the source is added.
    ///   - order: Ignored: port sources are served in the order of readiness.
    ///   - limit: How often the loop may call the source; nil sets no limit.
    ///   - body: Called on the thread of the loop that runs, with no lock held.
    /// - Throws: A `RunLoopError`: `.system` with `EBADF` if the descriptor is negative. `add` refuses a descriptor
    ///   that is not open (`EBADF`).
    public convenience init(
      fileDescriptor: Int32, limit: RateLimit? = nil, order: Int = 0, _ body: @escaping @Sendable (PortSource) -> Void
    ) throws {
      try self.init(
        fileDescriptor: fileDescriptor, limit: limit, order: order, onlyLoop: nil, unchecked: body)
    }

    convenience init(
      fileDescriptor: Int32, limit: RateLimit?, order: Int, onlyLoop: RunLoop?,
      unchecked body: @escaping (PortSource) -> Void
    ) throws {
      try Self.check(fileDescriptor)
      self.init(
        fileDescriptor, order: order, onlyLoop: onlyLoop,
        descriptors: ItemDescriptors.make(limit: limit), body)
    }

    // Not throwing: an initialiser that may throw while it holds the closure counts a reference.
    private init(
      _ fileDescriptor: Int32, order: Int, onlyLoop: RunLoop?, descriptors: ItemDescriptors?,
      _ body: @escaping (PortSource) -> Void
    ) {
      self.body = Body(body)
      super.init(
        .portSource, fileDescriptor: fileDescriptor, interest: PortRegistration.readable, order: order,
        onlyLoop: onlyLoop, descriptors: descriptors)
    }

    override func serve(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
      if ready == PortRegistration.failed { reportFailedRead() }
      loop.count(.portCallouts)
      let run = loop.placeOfRun
      let hasCalled = __RUNLOOPKIT_IS_CALLING_OUT_TO_A_PORT_SOURCE__(self)
      loop.endRuns(insideOf: run)
      return hasCalled
    }

    /// The loop calls the handler for a failed read, too. The handler cannot tell it from a message, so the loop
    /// reports it.
    @inline(never)
    private func reportFailedRead() {
      let why = "its descriptor \(descriptor) cannot be read"
      Diagnosis.warn("a port source\(labelText) is not called until it is added again: \(why)")
    }

    override func releaseBody() {
      var released = Body { _ in }
      swap(&body, &released)
    }

    override var words: String {
      "<port source\(labelText) order \(order), descriptor \(descriptor), "
        + "\(isValid ? "valid" : "invalid")\(contextText)>"
    }
  }
}
