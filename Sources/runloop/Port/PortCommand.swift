/// `runloop port serve` offers a named port, to try ports out; `runloop port send` sends to a named port from a shell.
enum PortCommand {
  static let usage = """
    usage: runloop port serve NAME [--once | --count N]
           runloop port send NAME [--id N] [--fd PATH]... [--timeout SECONDS] [DATA | -]

    serve  Registers a port for the processes of this user, prints each message that comes (its id, the sender's
           process and user, bytes, descriptors) and answers with the same id and bytes. Ends after N messages, or
           by SIGINT or SIGTERM.
    send   Sends one message, waits for the answer and prints it. The bytes are DATA, or all of standard input (-).
           Each PATH is opened for reading, and goes along as a descriptor.

      --once             serve one message: --count 1
      --count N          serve N messages
      --id N             the message's number, 0 to 4294967295 (else 0)
      --fd PATH          a descriptor to send along
      --timeout SECONDS  how long to wait for each PATH to open (a FIFO), and then for the answer, in all (else 10)
      --help             this text

    Exit status: 0; 1 if it did not work, with the reason on standard error; 2 if the command line is wrong.
    """

  /// Call it on the main thread, from a synchronous main, because it runs the main loop.
  static func run(_ arguments: [String]) -> Int32 {
    let request: Request
    do {
      request = try Request(arguments)
    } catch {
      return RunLoopTool.misuse("runloop port", error.message)
    }
    do {
      switch request {
      case .help: Output.write(usage + "\n")
      case .serve(let name, let count): try PortServer.run(name, count: count)
      case .send(let name, let letter): try PortSender.run(name, letter)
      }
      return 0
    } catch {
      Output.complain("runloop port: \(error)")
      return 1
    }
  }

  struct UsageError: Error {
    let message: String
  }

  /// What `send` sends.
  struct Letter {
    enum Content: Equatable {
      case nothing, standardInput
      case text(String)
    }

    var id: UInt32 = 0
    var paths: [String] = []
    var timeout: Duration = .seconds(10)
    var content = Content.nothing
  }

  /// The request of the command line.
  enum Request {
    case help
    case serve(name: String, count: Int?)
    case send(name: String, Letter)

    init(_ arguments: [String]) throws(UsageError) {
      if arguments.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
        self = .help
        return
      }
      var words = Words(arguments)
      switch words.next() {
      case "serve"?: self = try .serve(&words)
      case "send"?: self = try .send(&words)
      case let other?: throw UsageError(message: "unknown subcommand '\(other)'")
      case nil: throw UsageError(message: "'serve' or 'send'?")
      }
    }

    private static func serve(_ words: inout Words) throws(UsageError) -> Request {
      var name: String?
      var count: Int?
      while let word = words.next() {
        switch word {
        case "--once": count = 1
        case "--count": count = try words.number(of: word, 1...Int.max)
        default: name = try words.only(name, word, "name")
        }
      }
      guard let name else { throw UsageError(message: "serve: no name") }
      return .serve(name: name, count: count)
    }

    private static func send(_ words: inout Words) throws(UsageError) -> Request {
      var name: String?
      var data: String?
      var letter = Letter()
      while let word = words.next() {
        switch word {
        case "--id": letter.id = try UInt32(words.number(of: word, 0...Int(UInt32.max)))
        case "--fd": letter.paths.append(try words.value(of: word))
        case "--timeout": letter.timeout = try words.seconds(of: word)
        case _ where name == nil: name = try words.only(nil, word, "name")
        default: data = try words.only(data, word, "data")
        }
      }
      guard let name else { throw UsageError(message: "send: no name") }
      if let data { letter.content = data == "-" ? .standardInput : .text(data) }
      return .send(name: name, letter)
    }
  }

  /// The words of the command line, from left to right. After `--` no word is an option.
  struct Words {
    private var rest: ArraySlice<String>
    private var optionsEnded = false

    init(_ arguments: [String]) { rest = arguments[...] }

    mutating func next() -> String? {
      guard let word = rest.popFirst() else { return nil }
      if word == "--" && !optionsEnded {
        optionsEnded = true
        return rest.popFirst()
      }
      return word
    }

    mutating func value(of option: String) throws(UsageError) -> String {
      guard let word = rest.popFirst() else { throw UsageError(message: "\(option) needs a value") }
      return word
    }

    mutating func number(of option: String, _ range: ClosedRange<Int>) throws(UsageError) -> Int {
      let word = try value(of: option)
      guard let number = Int(word), range.contains(number) else {
        throw UsageError(message: "\(option): no such number: '\(word)'")
      }
      return number
    }

    mutating func seconds(of option: String) throws(UsageError) -> Duration {
      let word = try value(of: option)
      guard let seconds = Double(word), seconds >= 0, seconds <= 1e9 else {
        throw UsageError(message: "\(option): no such time: '\(word)'")
      }
      return .seconds(seconds)
    }

    /// Returns the word. Throws if it is an option, or if the command line had a word for the same place earlier.
    func only(_ earlier: String?, _ word: String, _ what: String) throws(UsageError) -> String {
      if word.hasPrefix("-") && word != "-" && !optionsEnded { throw UsageError(message: "unknown option '\(word)'") }
      if earlier != nil { throw UsageError(message: "more than one \(what): '\(word)'") }
      return word
    }
  }
}
