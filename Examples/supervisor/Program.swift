import ExampleSupport
import Glibc
import RunLoopKit

/// A supervisor and two workers, three processes of this one program, which talk by ports. It checks what it prints; the guide is
/// docs/guide/ports.md.
@main enum Program {
  static func main() {
    StandardOutput.watch()
    Ending.ofErrors {
      let arguments = CommandLine.arguments
      if arguments.count == 4, arguments[1] == "worker" {
        try Worker.run(name: arguments[2], supervisor: arguments[3])
      } else {
        try Story.tell()
      }
    }
  }

  /// Ends the program where what was said is not so.
  static func expect(_ condition: Bool, _ text: String) {
    print("\(condition ? "yes" : "NO ") \(text)")
    fflush(nil)
    if !condition { Ending.fail("NO \(text)") }
  }
}

/// What a message is about: its id.
enum Topic: UInt32 {
  /// Worker to supervisor: its name, and the right to send it work.
  case hello = 1
  /// To a worker: how many lines has the file of this descriptor?
  case countLines
  /// To a worker: a descriptor from which your report can be read.
  case report
  /// To a worker: ask the one whose right this is to count, and pass the answer on.
  case delegate
  /// To a worker: die.
  case crash
}

extension RunLoop.Message {
  init(_ topic: Topic, _ components: [Component] = []) { self.init(id: topic.rawValue, components) }

  var topic: Topic? { Topic(rawValue: id) }
  var text: String { bytes.map { String(decoding: $0, as: UTF8.self) } ?? "" }
}
