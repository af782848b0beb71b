/// The command line.
enum Options {
  struct Serve {
    var host = "127.0.0.1"
    var port: UInt16
    var directory: String
  }

  /// Between a daemon and the child that it starts: write what the log says up to an offset into a file of its own.
  struct Compact {
    var directory: String
    var end: Int
    var name: String
    /// Once it is not the parent any more, nobody waits for the file.
    var parent: Int32
  }

  case help
  case serve(Serve)
  case compact(Compact)
  case repair(directory: String)

  struct Mistake: Error, CustomStringConvertible { let description: String }

  static let usage = """
    usage: kvd --port N --dir DIR [--host ADDRESS]
           kvd repair --dir DIR

    repair makes a new log of all whole records of a damaged one, which it keeps.

      --port N         listen on this TCP port; 0: on any, told as `listening PORT`
      --dir DIR        where kvd.log is kept and kvd.conf is read; must exist
      --host ADDRESS   the IPv4 address to listen on; 127.0.0.1 if not given
    """

  init(_ arguments: [String]) throws(Mistake) {
    if arguments.contains("--help") || arguments.contains("-h") {
      self = .help
      return
    }
    var values: [String: String] = [:]
    var rest = arguments[...]
    let isRepair = rest.first == "repair"
    if isRepair { rest.removeFirst() }
    while let name = rest.popFirst() {
      guard ["--port", "--dir", "--host", "--compact", "--until", "--parent"].contains(name) else {
        throw Mistake(description: "unknown argument '\(name)'")
      }
      guard let value = rest.popFirst() else { throw Mistake(description: "\(name) wants a value") }
      guard values.updateValue(value, forKey: name) == nil else {
        throw Mistake(description: "\(name) is given twice")
      }
    }
    guard let directory = values["--dir"] else { throw Mistake(description: "--dir is missing") }
    if isRepair {
      guard values.count == 1 else { throw Mistake(description: "repair takes --dir alone") }
      self = .repair(directory: directory)
      return
    }
    if let name = values["--compact"] {
      self = .compact(
        Compact(
          directory: directory, end: try Self.number("--until", values), name: name,
          parent: try Self.number("--parent", values)))
      return
    }
    var serve = Serve(port: try Self.number("--port", values), directory: directory)
    if let host = values["--host"] { serve.host = host }
    self = .serve(serve)
  }

  private static func number<N: FixedWidthInteger>(_ name: String, _ values: [String: String]) throws(Mistake) -> N {
    guard let text = values[name] else { throw Mistake(description: "\(name) is missing") }
    guard let number = N(text), number >= 0 else { throw Mistake(description: "\(name): '\(text)' is no such number") }
    return number
  }
}
