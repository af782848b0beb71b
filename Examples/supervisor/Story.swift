import Glibc
import RunLoopKit

/// What happens to the three processes, and whether it does.
enum Story {
  static func tell() throws {
    let supervisor = Supervisor()
    try supervisor.open()
    for name in ["anna", "bert"] {
      try supervisor.start(name)
      Program.expect(try isThere(name, supervisor), "\(name) has been started, and says hello")
    }
    try work(supervisor)
    try deaths(supervisor)

    supervisor.close()
    let areGone = try supervisor.run { ["anna", "bert"].allSatisfy { supervisor.worker($0).ends.count == 2 } }
    let ends = ["anna", "bert"].map { supervisor.worker($0).ends.last }
    let areWell = ends == [.exited(code: 0), .exited(code: 0)]
    Program.expect(areGone && areWell, "without a supervisor they go home, both with exit code 0")
  }

  private static func isThere(_ name: String, _ supervisor: Supervisor) throws -> Bool {
    try supervisor.run { supervisor.worker(name).right != nil }
  }

  // MARK: Requests and descriptors

  private static func work(_ supervisor: Supervisor) throws {
    for name in ["anna", "bert"] {
      let count = try supervisor.ask(name, RunLoop.Message(.countLines, [.descriptor(try file())])).text
      Program.expect(count == "4", "\(name) counts \(count) lines in a file that came as a descriptor")
      let answer = try supervisor.ask(name, RunLoop.Message(.report))
      Program.expect(
        answer.descriptors.first.map(contents) == "\(name) is process \(answer.sender?.processID ?? 0)",
        "\(name) reports by a descriptor, and the kernel says the same")
    }
    guard let bert = supervisor.worker("bert").right else { return }
    let answer = try supervisor.ask("anna", RunLoop.Message(.delegate, [.right(bert), .descriptor(try file())]))
    Program.expect(answer.text == "4", "anna was given the right to send to bert, and has him count")
  }

  /// A file without a name, which only descriptors lead to.
  private static func file() throws -> RunLoop.Message.Descriptor {
    var path = Array("/tmp/supervisor-XXXXXX".utf8CString)
    let number = mkstemp(&path)
    guard number >= 0 else { throw RunLoopError.system(errno, call: "mkstemp") }
    unlink(path)
    let text = Array("one\ntwo\nthree\nfour\n".utf8)
    _ = write(number, text, text.count)
    return try RunLoop.Message.Descriptor(owning: number)
  }

  private static func contents(_ descriptor: RunLoop.Message.Descriptor) -> String {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = read(descriptor.fileDescriptor, &bytes, bytes.count)
    return String(decoding: bytes[..<max(count, 0)], as: UTF8.self)
  }

  // MARK: Deaths

  private static func deaths(_ supervisor: Supervisor) throws {
    let old = supervisor.worker("anna").right
    try supervisor.worker("anna").child?.send(.kill)
    let hasReturned = try supervisor.run {
      supervisor.worker("anna").starts == 2 && supervisor.worker("anna").right != nil
        && supervisor.worker("anna").right != old
    }
    Program.expect(hasReturned && old?.isValid == false, "anna was killed: her port is gone, and she was started again")
    let count = try supervisor.ask("anna", RunLoop.Message(.countLines, [.descriptor(try file())])).text
    Program.expect(count == "4", "the new anna counts as the old one did")

    var isTold = false
    do {
      _ = try supervisor.ask("bert", RunLoop.Message(.crash))
    } catch RunLoopError.portInvalid, RunLoopError.noReply {
      isTold = true
    }
    Program.expect(isTold, "bert dies over a request: who waits for the answer is told")
    let isBack = try supervisor.run {
      supervisor.worker("bert").starts == 2 && supervisor.worker("bert").right?.isValid == true
    }
    Program.expect(isBack, "and he was started again too")
  }
}
