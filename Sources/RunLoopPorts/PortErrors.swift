import RunLoopKit

extension RunLoopError.Domain {
  /// Errors about names of ports and other processes: the constants of `RunLoopError` in this module.
  public static let ports = RunLoopError.Domain(rawValue: "RunLoopPorts")
}

extension RunLoopError {
  /// Another port has the name.
  public static let nameTaken = nameTaken("the name")
  /// No port has the name.
  public static let noSuchPort = noSuchPort("no port has the name")
  /// The text is not a port name: 1 to 64 of A-Z a-z 0-9 . _ -, not beginning with a dot, not ending in `.lock`.
  public static let badName = badName("the name")
  /// One of the two processes refuses the other one. The description says why.
  public static let refused = refused(reason: "the other process does not suit")

  static func nameTaken(_ subject: String) -> RunLoopError {
    RunLoopError(.ports, code: 1, "another port is registered as \(subject)")
  }

  static func noSuchPort(_ text: String) -> RunLoopError { RunLoopError(.ports, code: 2, text) }

  static func badName(_ subject: String) -> RunLoopError {
    RunLoopError(
      .ports, code: 3,
      "\(subject) is not a port name: 1 to 64 of A-Z a-z 0-9 . _ -, not beginning with a dot, not ending in .lock")
  }

  package static func refused(reason: String) -> RunLoopError { RunLoopError(.ports, code: 4, "refused: \(reason)") }
}
