// Descriptors that other packages keep in types of their own, such as `FileDescriptor` of swift-system. RunLoopKit
// depends on none of these packages: it takes any type whose raw value is a `CInt`. Each function has the defaults of
// the one that takes an `Int32`, and calls it.

extension RunLoop.FileDescriptorSource {
  /// Creates a source for a descriptor of another package's type, such as `FileDescriptor` of swift-system [RLK-FD-45].
  ///
  /// The parameters are those of the initialiser that takes an `Int32`. - Throws: As that initialiser. - Thread: Any.
  public convenience init(
    fileDescriptor: some RawRepresentable<CInt>, interest: Readiness, trigger: Trigger = .level,
    ownership: Ownership = .borrowed, unpollable: Unpollable = .refuse, limit: RunLoop.RateLimit? = nil,
    order: Int = 0, _ body: @escaping @Sendable (RunLoop.FileDescriptorSource, Readiness) -> Void
  ) throws {
    try self.init(
      fileDescriptor: fileDescriptor.rawValue, interest: interest, trigger: trigger, ownership: ownership,
      unpollable: unpollable, limit: limit, order: order, body)
  }
}

extension RunLoop.PortSource {
  /// Creates a source for a counter or pipe of another package's type, such as `FileDescriptor` of swift-system.
  ///
  /// The parameters are those of the initialiser that takes an `Int32`. - Throws: As that initialiser. - Thread: Any.
  public convenience init(
    fileDescriptor: some RawRepresentable<CInt>, limit: RunLoop.RateLimit? = nil, order: Int = 0,
    _ body: @escaping @Sendable (RunLoop.PortSource) -> Void
  ) throws {
    try self.init(fileDescriptor: fileDescriptor.rawValue, limit: limit, order: order, body)
  }
}

extension RunLoop {
  /// A sequence of the readiness of a descriptor of another package's type, such as `FileDescriptor` of swift-system.
  ///
  /// The parameters are those of the function that takes an `Int32`. - Throws: As that function. - Thread: Any.
  public func readiness(
    of fileDescriptor: some RawRepresentable<CInt>, for interest: Readiness = .readable,
    ownership: FileDescriptorSource.Ownership = .borrowed, unpollable: FileDescriptorSource.Unpollable = .refuse,
    in mode: Mode = .default
  ) throws -> ReadinessSequence {
    try readiness(
      of: fileDescriptor.rawValue, for: interest, ownership: ownership, unpollable: unpollable, in: mode)
  }
}

extension RunLoop.Local {
  /// Creates a port source for a counter or pipe of another package's type, and adds it to `mode`.
  ///
  /// The parameters are those of the function that takes an `Int32`. - Throws: As that function.
  @discardableResult
  public func portSource(
    fileDescriptor: some RawRepresentable<CInt>, limit: RunLoop.RateLimit? = nil, order: Int = 0,
    in mode: RunLoop.Mode = .default, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping (RunLoop.PortSource) -> Void
  ) throws -> RunLoop.PortSource {
    try portSource(
      fileDescriptor: fileDescriptor.rawValue, limit: limit, order: order, in: mode, file: file, line: line, body)
  }

  /// Creates a descriptor source for a descriptor of another package's type, and adds it to `mode`.
  ///
  /// The parameters are those of the function that takes an `Int32`. - Throws: As that function.
  @discardableResult
  public func fileDescriptorSource(
    fileDescriptor: some RawRepresentable<CInt>, interest: RunLoop.Readiness,
    trigger: RunLoop.FileDescriptorSource.Trigger = .level,
    ownership: RunLoop.FileDescriptorSource.Ownership = .borrowed,
    unpollable: RunLoop.FileDescriptorSource.Unpollable = .refuse, limit: RunLoop.RateLimit? = nil, order: Int = 0,
    in mode: RunLoop.Mode = .default, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping (RunLoop.FileDescriptorSource, RunLoop.Readiness) -> Void
  ) throws -> RunLoop.FileDescriptorSource {
    try fileDescriptorSource(
      fileDescriptor: fileDescriptor.rawValue, interest: interest, trigger: trigger, ownership: ownership,
      unpollable: unpollable, limit: limit, order: order, in: mode, file: file, line: line, body)
  }
}

extension RunLoop.Message.Descriptor {
  /// Takes ownership of a descriptor of another package's type, such as `FileDescriptor` of swift-system: other code
  /// must not close it any more.
  /// - Throws: As the initialiser that takes an `Int32`.
  public convenience init(owning fileDescriptor: some RawRepresentable<CInt>) throws {
    try self.init(owning: fileDescriptor.rawValue)
  }

  /// Duplicates a descriptor of another package's type, close-on-exec. The caller still owns the original.
  /// - Throws: As the initialiser that takes an `Int32`.
  public convenience init(duplicating fileDescriptor: some RawRepresentable<CInt>) throws {
    try self.init(duplicating: fileDescriptor.rawValue)
  }
}
