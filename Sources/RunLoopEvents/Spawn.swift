internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

extension RunLoop.ChildSource {
  /// An action of the child before its program starts.
  public enum FileAction: Hashable, Sendable {
    /// Makes the second descriptor a duplicate of the first, as dup2(2) does. The first is a descriptor of this
    /// process. With equal numbers the descriptor stays open in the child.
    case duplicate(Int32, as: Int32)
    /// Closes a descriptor. Close-on-exec descriptors, such as all of RunLoopKit's, need no such action.
    case close(Int32)
    /// Opens a file under the descriptor `as`, with the flags and the mode of open(2).
    case open(path: String, flags: Int32, mode: UInt32 = 0o644, as: Int32)
    /// As `open`, for a path of bytes, which need not be UTF-8.
    case openBytes(path: [UInt8], flags: Int32, mode: UInt32 = 0o644, as: Int32)
    /// Changes the working directory for the actions that follow and for the program.
    case changeDirectory(String)
    /// As `changeDirectory`, for a path of bytes, which need not be UTF-8.
    case changeDirectoryBytes([UInt8])
  }

  /// Starts a program with no signal blocked or ignored, whatever this process blocks for its signal sources
  /// [RLK-CHILD-12].
  ///
  /// ```swift
  /// let child = try RunLoop.ChildSource.spawn("echo", arguments: ["from the child"])  // prints from the child
  /// let loop = RunLoop.current
  /// try loop.add(RunLoop.ChildSource(processID: child) { _, _ in loop.stop() })
  /// try loop.run()
  /// ```
  ///
  /// The call does not wait for the child's end: the caller has to, with a `ChildSource` or with waitpid(2). The child
  /// stays in the process group and the session of this process. Signals of a `ChildSource` reach the child alone, and
  /// not what it starts. To signal both, spawn the program by setsid(1), and call kill(2) with the negative number of
  /// the child.
  /// - Parameters:
  ///   - path: The program. A path without a slash is searched in `PATH`.
  ///   - arguments: The arguments after the program's name, which is `path`.
  ///   - environment: Strings of the form `NAME=value`; nil for this process's environment.
  ///   - actions: What the child does first, in order [RLK-EVENT-10].
  /// - Returns: The number of the child.
  /// - Throws: A `RunLoopError.system`: `ENOENT`, `EACCES`, `E2BIG`, `EAGAIN`, `ENOMEM`, `EBADF`...; `EINVAL` for a
  ///   string with a zero byte. After an error there is no child [RLK-EVENT-9].
  /// - Thread: Any. - Blocks: Until the program has started. - SeeAlso: posix_spawnp(3).
  public static func spawn(
    _ path: String, arguments: [String] = [], environment: [String]? = nil, actions: [FileAction] = []
  ) throws -> Int32 {
    try spawn(
      pathBytes: Array(path.utf8), arguments: arguments.map { Array($0.utf8) },
      environment: environment.map { $0.map { Array($0.utf8) } }, actions: actions)
  }

  /// As `spawn(_:arguments:environment:actions:)`, for strings of bytes without a zero at the end, such as the names of
  /// files. They need not be UTF-8 [RLK-CHILD-16].
  public static func spawn(
    pathBytes: [UInt8], arguments: [[UInt8]] = [], environment: [[UInt8]]? = nil, actions: [FileAction] = []
  ) throws -> Int32 {
    let paths = actions.map(\.path)
    try checkStrings([pathBytes], "the path", of: pathBytes)
    try checkStrings(arguments, "argument", of: pathBytes)
    try checkStrings(environment ?? [], "environment string", of: pathBytes)
    try checkStrings(paths.map { $0 ?? [] }, "the path of action", of: pathBytes)
    let (argv, envp) = (CStrings([pathBytes] + arguments), environment.map { CStrings($0) })
    let pathCopies = CStrings(paths.map { $0 ?? [] })
    let list = actions.enumerated().map { $1.entry(path: pathCopies[$0]) }
    var processID: Int32 = 0
    let status = withExtendedLifetime((argv, envp, pathCopies)) {
      rlc_process_spawn(argv[0], argv.pointers, envp?.pointers, list, list.count, &processID)
    }
    let path = SystemPath.text(pathBytes)
    try RunLoopError.checkCore(status, actions.isEmpty ? path : "\(path), or one of its file actions")
    return processID
  }

  private static func checkStrings(_ strings: [[UInt8]], _ what: String, of path: [UInt8]) throws(RunLoopError) {
    for (index, string) in strings.enumerated() {
      guard let zero = string.firstIndex(of: 0) else { continue }
      let number = strings.count > 1 || what != "the path" ? "\(what) \(index)" : what
      throw .system(EINVAL, "\(SystemPath.text(path)): a string has a zero byte in it (\(number), byte \(zero))")
    }
  }
}

extension RunLoop.ChildSource.FileAction {
  fileprivate var path: [UInt8]? {
    switch self {
    case .duplicate, .close: nil
    case .open(let path, _, _, _): Array(path.utf8)
    case .openBytes(let path, _, _, _): path
    case .changeDirectory(let path): Array(path.utf8)
    case .changeDirectoryBytes(let path): path
    }
  }

  fileprivate func entry(path: UnsafeMutablePointer<CChar>?) -> rlc_spawn_action {
    var entry = rlc_spawn_action()
    switch self {
    case .duplicate(let source, let number):
      (entry.kind, entry.source, entry.fd) = (Int32(RLC_SPAWN_DUPLICATE), source, number)
    case .close(let number):
      (entry.kind, entry.fd) = (Int32(RLC_SPAWN_CLOSE), number)
    case .open(_, let flags, let mode, let number), .openBytes(_, let flags, let mode, let number):
      (entry.kind, entry.fd, entry.flags, entry.mode) = (Int32(RLC_SPAWN_OPEN), number, flags, mode)
    case .changeDirectory, .changeDirectoryBytes:
      entry.kind = Int32(RLC_SPAWN_CHANGE_DIRECTORY)
    }
    entry.path = UnsafePointer(path)
    return entry
  }
}

/// Copies of strings for C, with a null pointer at the end. The deinit frees them.
private final class CStrings {
  let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  private let count: Int

  init(_ strings: [[UInt8]]) {
    count = strings.count
    pointers = .allocate(capacity: count + 1)
    for (index, string) in strings.enumerated() {
      pointers[index] = (string + [0]).withUnsafeBufferPointer {
        $0.withMemoryRebound(to: CChar.self) { strdup($0.baseAddress!) }
      }
    }
    pointers[count] = nil
  }

  subscript(index: Int) -> UnsafeMutablePointer<CChar>? { pointers[index] }

  deinit {
    for index in 0..<count { free(pointers[index]) }
    pointers.deallocate()
  }
}
