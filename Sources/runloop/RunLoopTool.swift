import CRunLoopCore
internal import RunLoopLibc

/// The `runloop` command. Its main is synchronous: an asynchronous main leaves the main thread to libdispatch when it
/// suspends, and the main loop would then have no thread.
@main
enum RunLoopTool {
  private struct Subcommand: Sendable {
    let name: String
    let summary: String
    let run: @Sendable ([String]) -> Int32
  }

  private static let subcommands = [
    Subcommand(name: "scenario", summary: "run a scenario file and print its trace", run: ScenarioCommand.run),
    Subcommand(name: "port", summary: "serve a named port, or send a message to one", run: PortCommand.run),
  ]

  static func main() {
    Output.claimStandardDescriptors()
    exit(Output.status(run(Array(CommandLine.arguments.dropFirst()))))
  }

  private static func run(_ arguments: [String]) -> Int32 {
    guard let name = arguments.first else {
      Output.complain(usage)
      return 2
    }
    if name == "--help" || name == "-h" || name == "help" { return help(about: arguments.dropFirst().first) }
    if name == "--version" {
      Output.write("runloop \(RLC_VERSION_MAJOR).\(RLC_VERSION_MINOR).\(RLC_VERSION_PATCH)\n")
      return 0
    }
    guard let subcommand = subcommands.first(where: { $0.name == name }) else {
      return misuse("runloop", "unknown \(name.hasPrefix("-") ? "option" : "subcommand") '\(name)'")
    }
    return subcommand.run(Array(arguments.dropFirst()))
  }

  /// Reports a mistake on the command line in one line, and returns the exit status.
  /// - Parameter command: The command whose `--help` has the right form.
  static func misuse(_ command: String, _ text: String) -> Int32 {
    Output.complain("\(command): \(text) (see \(command) --help)")
    return 2
  }

  private static func help(about name: String?) -> Int32 {
    guard let name else {
      Output.write(usage + "\n")
      return 0
    }
    return run([name, "--help"])
  }

  private static var usage: String {
    let width = subcommands.map(\.name.count).max() ?? 0
    let lines = subcommands.map { subcommand in
      "  \(subcommand.name)\(String(repeating: " ", count: width - subcommand.name.count + 2))\(subcommand.summary)"
    }
    return """
      usage: runloop SUBCOMMAND [ARGUMENTS]

      \(lines.joined(separator: "\n"))

      `runloop help SUBCOMMAND` says more, `runloop --version` names the version.
      """
  }
}
