internal import RunLoopLibc

/// `runloop scenario FILE.rl [--virtual]`
enum ScenarioCommand {
  static let usage = """
    usage: runloop scenario FILE.rl [--virtual]

    Runs a run-loop scenario and prints its trace. Exit status: 0 if it came to its end, 1 if the trace could not be
    written, 2 if it has errors (FILE:LINE: error: TEXT), 3 if it hung.

      --virtual  on a virtual clock: no waiting, the same trace every time
      --help     this text

    Environment: RLSCALE=F multiplies every time of the scenario by F, 0.001 to 1000 (printed times are divided by it).
    """

  /// Call it on the main thread, from a synchronous main, before any loop exists.
  static func run(_ arguments: [String]) -> Int32 {
    var file: String?
    var isVirtual = false
    for argument in arguments {
      switch argument {
      case "--virtual": isVirtual = true
      case "--help", "-h":
        Output.write(usage + "\n")
        return 0
      case _ where argument.hasPrefix("-") && argument != "-":
        return misuse("unknown option '\(argument)'")
      case _ where file != nil: return misuse("more than one file: '\(argument)'")
      default: file = argument
      }
    }
    guard let file else { return misuse("no scenario file") }
    guard let text = contents(of: file) else {
      Output.complain("\(file): cannot read: \(String(cString: strerror(errno)))")
      return 2
    }
    return interpret(file, text, isVirtual: isVirtual)
  }

  private static func interpret(_ file: String, _ text: [UInt8], isVirtual: Bool) -> Int32 {
    let (scenario, errors) = ScenarioParser.parse(text)
    for error in errors { Output.complain("\(file):\(error.line): error: \(error.text)") }
    guard errors.isEmpty else { return 2 }
    guard let scale = scale() else { return 2 }
    let time = Timeline(
      isVirtual: isVirtual, scale: scale * scenario.settings.slowness, quantum: scenario.settings.quantum)
    Output.write(Interpreter(file: file, scenario: scenario, time: time).run())
    // Threads of the scenario may still run. `_exit` ends them, and runs nothing that could wait for them.
    _exit(Output.status(0))
  }

  /// Returns the factor in `RLSCALE`. Prints a message and returns nil if the factor is not valid.
  private static func scale() -> Double? {
    guard let value = getenv("RLSCALE"), value.pointee != 0 else { return 1 }
    let text = String(cString: value)
    if let scale = Double(text), Limits.scales.contains(scale) { return scale }
    Output.complain("runloop scenario: RLSCALE: '\(text)' is no factor from 0.001 to 1000")
    return nil
  }

  private static func misuse(_ text: String) -> Int32 {
    RunLoopTool.misuse("runloop scenario", text)
  }

  /// Returns nil, with errno set, if the file cannot be read.
  private static func contents(of path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count > 0 {
        text += chunk[..<count]
      } else if count == 0 {
        return text
      } else if errno != EINTR {
        return nil
      }
    }
  }
}
