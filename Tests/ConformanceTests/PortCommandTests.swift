import Glibc
import Testing

/// `runloop port serve` and `runloop port send`, two processes of the built tool.
@Suite struct PortCommandTests {
  /// A runtime folder of one's own, so that names are nobody else's.
  private final class Folder {
    let path: String

    init() {
      var template = Array("/tmp/runloop-port-XXXXXX".utf8CString)
      path = String(cString: mkdtemp(&template))
    }

    var environment: [String: String] { ["XDG_RUNTIME_DIR": path] }

    /// A server that has said that it serves.
    func serve(_ arguments: String...) -> RunningTool {
      let server = RunningTool(["port", "serve"] + arguments, environment: environment)
      #expect(server.line() == "serving \(arguments[0])")
      return server
    }

    func send(_ arguments: String...) -> Tool.Outcome {
      Tool().run(["port", "send"] + arguments, environment: environment)
    }

    /// What lies where the names are.
    var names: [String] { Files.names(in: path + "/runloopkit", endingIn: "").filter { $0 != "." && $0 != ".." } }

    deinit {
      for name in names { unlink("\(path)/runloopkit/\(name)") }
      rmdir(path + "/runloopkit")
      rmdir(path)
    }
  }

  @Test func aMessageIsPrintedAndAnsweredWithItsIDAndBytes() {
    let folder = Folder()
    let server = folder.serve("echo", "--count", "3")
    let answer = folder.send("echo", "--id", "150", "--fd", "/etc/passwd", "--fd", "/dev/null", "hello \"you\"\n")
    #expect(answer.status == 0, "\(answer.complaint)")
    #expect(
      answer.output == "id 150 pid \(server.pid) uid \(getuid()) bytes 12 \"hello \\\"you\\\"\\n\" descriptors 0\n")
    let line = server.line() ?? ""
    #expect(line.hasPrefix("id 150 pid "))
    #expect(
      line.hasSuffix(
        " uid \(getuid()) bytes 12 \"hello \\\"you\\\"\\n\" descriptors 2 \"/etc/passwd\" \"/dev/null\""), "\(line)")

    // Standard input is empty.
    #expect(folder.send("echo", "-").output.hasSuffix(" bytes 0 descriptors 0\n"))
    #expect(folder.send("--id", "4294967295", "echo").output.hasPrefix("id 4294967295 "))
    #expect(server.line()?.hasPrefix("id 0 ") == true)
    #expect(server.line()?.hasPrefix("id 4294967295 ") == true)
    #expect(server.line() == "served 3 messages")
    #expect(server.wait() == 0)
  }

  @Test func lostOutputExitsWith1() {
    let folder = Folder()
    checkLostOutput(["port", "serve", "echo"], environment: folder.environment)
    #expect(folder.names.isEmpty, "\(folder.names)")
    let server = folder.serve("echo", "--count", "2")
    checkLostOutput(["port", "send", "echo", "hello"], environment: folder.environment)
    #expect(server.wait() == 0)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func aSignalEndsItAndFreesTheName(_ signal: Int32) {
    let folder = Folder()
    let first = folder.serve("echo")
    first.send(signal)
    #expect(first.line() == "served 0 messages")
    #expect(first.wait() == 0)
    #expect(folder.names.isEmpty, "\(folder.names)")
    let second = folder.serve("echo", "--once")
    #expect(folder.send("echo", "again").status == 0)
    #expect(second.wait() == 0)
  }

  @Test func aNameHasOneOwnerAndADeadOneIsReplaced() {
    let folder = Folder()
    let first = folder.serve("echo")
    let refused = Tool().run(["port", "serve", "echo"], environment: folder.environment)
    #expect(refused.status == 1)
    #expect(refused.output.isEmpty)
    #expect(refused.complaint.hasPrefix("runloop port: "))

    first.send(SIGKILL)
    #expect(first.wait() == 128 + SIGKILL)
    let unanswered = folder.send("echo", "anybody?")
    #expect(unanswered.status == 1)
    #expect(unanswered.complaint == "runloop port: no process serves 'echo'\n")
    let second = folder.serve("echo", "--once")
    #expect(folder.send("echo", "there").status == 0)
    #expect(second.wait() == 0)
  }

  @Test func whatGoesWrongExitsWith1() {
    let folder = Folder()
    let server = folder.serve("echo")
    server.send(SIGSTOP)
    let late = folder.send("echo", "--timeout", "0.05", "hello")
    #expect(late.status == 1)
    #expect(late.complaint == "runloop port: 'echo' has not answered within 0.05 seconds\n")
    server.send(SIGCONT)

    let missing = folder.send("echo", "--fd", "/nonexistent/file")
    #expect(missing.status == 1)
    #expect(missing.complaint == "runloop port: /nonexistent/file: No such file or directory\n")
    let fifo = folder.path + "/fifo"
    #expect(mkfifo(fifo, 0o600) == 0)
    defer { unlink(fifo) }
    let waiting = folder.send("echo", "--fd", fifo, "--timeout", "0.05")
    #expect(waiting.status == 1)
    #expect(waiting.complaint == "runloop port: \(fifo): not open within 0.05 seconds: a FIFO waits for its writer\n")
    #expect(folder.send("nobody").status == 1)
    #expect(folder.send("../echo").status == 1)
  }

  @Test(
    arguments: [
      (["port"], "'serve' or 'send'?"),
      (["port", "listen"], "unknown subcommand 'listen'"),
      (["port", "serve"], "serve: no name"),
      (["port", "serve", "a", "b"], "more than one name: 'b'"),
      (["port", "serve", "a", "--count", "0"], "--count: no such number: '0'"),
      (["port", "serve", "a", "--count"], "--count needs a value"),
      (["port", "serve", "a", "--twice"], "unknown option '--twice'"),
      (["port", "send"], "send: no name"),
      (["port", "send", "a", "--id", "4294967296"], "--id: no such number: '4294967296'"),
      (["port", "send", "a", "--id", "-1"], "--id: no such number: '-1'"),
      (["port", "send", "a", "--timeout", "soon"], "--timeout: no such time: 'soon'"),
      (["port", "send", "a", "--fast"], "unknown option '--fast'"),
      (["port", "send", "a", "b", "c"], "more than one data: 'c'"),
    ])
  func mistakesExitWith2(_ arguments: [String], _ text: String) {
    let outcome = Tool().run(arguments)
    #expect(outcome.status == 2)
    #expect(outcome.output.isEmpty)
    #expect(outcome.complaint == "runloop port: \(text) (see runloop port --help)\n")
  }

  @Test func helpIsNoError() {
    for arguments in [["port", "--help"], ["help", "port"], ["port", "send", "-h"]] {
      let outcome = Tool().run(arguments)
      #expect(outcome.status == 0)
      #expect(outcome.output.hasPrefix("usage: runloop port serve"))
    }
  }
}
