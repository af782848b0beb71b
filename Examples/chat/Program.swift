import ExampleSupport
@preconcurrency import Glibc  // stderr is a variable there
import RunLoopEvents
import RunLoopKit

/// A chat over TCP: actors on the main loop, and no other thread.
///
///     chat [--port PORT] [--idle MILLISECONDS]
///
/// Lines on standard input are the operator's: said to all, and `quit` ends the chat, as SIGTERM and SIGINT do. SIGHUP
/// lists who is there.
@main enum Program {
  static func main() throws {
    StandardOutput.watch()
    // First of all: threads inherit what is blocked.
    try RunLoop.Signal.block(.terminate, .interrupt, .hangup)
    guard let options = Options(CommandLine.arguments.dropFirst()) else {
      fputs("usage: chat [--port PORT] [--idle MILLISECONDS]\n", stderr)
      exit(2)
    }
    do {
      let listener = try Socket.listen(port: options.port)
      say("listening \(listener.port)")
      try RunLoop.main.run { try await serve(listener.descriptor, options) }
      say("ended")
    } catch {
      fputs("chat: \(error)\n", stderr)
      exit(1)
    }
  }

  /// Until somebody ends it. Whoever is there then is told so.
  private static func serve(_ listener: Int32, _ options: Options) async throws {
    let loop = RunLoop.main
    let room = Room(on: loop)
    // Each answers whether the chat is over.
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask { try await welcome(listener, to: room, on: loop, idle: options.idle) }
      group.addTask { try await heed(signals: try loop.signals(.terminate, .interrupt, .hangup), in: room) }
      group.addTask { try await listenToOperator(in: room, on: loop) }
      while let isOver = try await group.next(), !isOver {}
      group.cancelAll()
    }
  }

  /// Each connection is a session of its own. Those that are left are cancelled with this one.
  private static func welcome(
    _ listener: Int32, to room: Room, on loop: RunLoop, idle: Duration
  ) async throws -> Bool {
    let connections = try loop.readiness(of: listener, ownership: .closesWhenInvalidated)
    return try await withThrowingDiscardingTaskGroup { sessions in
      for try await _ in connections {
        while let descriptor = try Socket.accept(listener) {
          sessions.addTask { await Session(descriptor, in: room, on: loop, idle: idle).run() }
        }
      }
      return true
    }
  }

  private static func heed(
    signals: RunLoop.EventSequence<RunLoop.SignalInfo>, in room: Room
  ) async throws -> Bool {
    for try await info in signals {
      guard info.signal == .hangup else { return true }
      say("here: \(await room.names.joined(separator: ", "))")
    }
    return true
  }

  /// Without an operator the chat goes on.
  private static func listenToOperator(in room: Room, on loop: RunLoop) async throws -> Bool {
    var lines = Lines()
    for try await _ in try loop.readiness(of: STDIN_FILENO, unpollable: .alwaysReady) {
      guard let bytes = Socket.read(STDIN_FILENO) else { return false }
      lines.append(bytes)
      while let line = lines.next() {
        if line == "quit" { return true }
        await room.announce("the operator says: \(line)")
      }
    }
    return false
  }

  /// Written at once, also into a pipe.
  static func say(_ line: String) {
    print(line)
    fflush(nil)
  }
}

struct Options {
  private(set) var port: UInt16 = 0
  private(set) var idle = Duration.seconds(300)

  /// Nil if they are not understood.
  init?(_ words: ArraySlice<String>) {
    var words = words
    while let word = words.popFirst() {
      switch (word, words.popFirst()) {
      case ("--port", let value?):
        guard let port = UInt16(value) else { return nil }
        self.port = port
      case ("--idle", let value?):
        guard let milliseconds = Int(value), milliseconds > 0 else { return nil }
        idle = .milliseconds(milliseconds)
      default: return nil
      }
    }
  }
}
