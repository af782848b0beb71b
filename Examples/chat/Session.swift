import RunLoopKit

/// One connection. Three tasks share it, all on the loop's thread: one listens, one waits for room to send, and one for
/// the end of the visitor's patience. The first that ends, ends the session.
actor Session {
  /// Why it ends, in words for the visitor.
  private struct Farewell: Error { let text: String }

  private static let longestLine = 4 << 10
  /// Who does not read what is said is not waited for.
  private static let mostUnsent = 256 << 10

  private let loop: RunLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }
  private let descriptor: Int32
  private let room: Room
  private let idle: Duration
  private var lastHeard: RunLoop.Instant
  private var unsent: [UInt8] = []
  /// Rings when something is unsent.
  private let (bell, ringer) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

  /// Takes the descriptor over.
  init(_ descriptor: Int32, in room: Room, on loop: RunLoop, idle: Duration) {
    self.descriptor = descriptor
    self.room = room
    self.loop = loop
    self.idle = idle
    lastHeard = loop.clock.now
  }

  deinit { Socket.close(descriptor) }

  /// Returns when the visitor has gone.
  func run() async {
    let name = await room.join(self)
    tell("* welcome, \(name): /name NAME, /who and /quit are for you")
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await self.listen() }
        group.addTask { try await self.deliver() }
        group.addTask { try await self.losePatience() }
        try await group.next()
        group.cancelAll()
      }
    } catch let farewell as Farewell {
      tell("* \(farewell.text)")
    } catch is CancellationError {
      tell("* the chat is over")
    } catch {
      tell("* \(error)")
    }
    await room.leave(self)
  }

  /// Sends what there is room for now. The rest waits for its turn.
  func tell(_ line: String) {
    unsent += Array(line.utf8) + [UInt8(ascii: "\n")]
    unsent.removeFirst(Socket.send(descriptor, unsent))
    if unsent.count > Self.mostUnsent { hangUp() } else if !unsent.isEmpty { ringer.yield() }
  }

  /// Who listens learns of it by the end of the connection.
  private func hangUp() {
    Socket.hangUp(descriptor)
    unsent = []
  }

  private func listen() async throws {
    var lines = Lines()
    for try await _ in try loop.readiness(of: descriptor) {
      guard let bytes = Socket.read(descriptor) else { return }
      lastHeard = loop.clock.now
      lines.append(bytes)
      while let line = lines.next() { try await hear(line) }
      if lines.rest > Self.longestLine { throw Farewell(text: "a line is too long") }
    }
  }

  private func hear(_ line: String) async throws {
    let words = line.split(separator: " ", maxSplits: 1)
    switch words.first {
    case "/quit": throw Farewell(text: "goodbye")
    case "/who": tell("* here: \(await room.names.joined(separator: ", "))")
    case "/name" where words.count == 2:
      if await !room.rename(self, to: String(words[1])) { tell("* somebody is called so") }
    case nil: break
    default: await room.say(line, from: self)
    }
  }

  private func deliver() async throws {
    for await _ in bell {
      guard !unsent.isEmpty else { continue }
      for try await _ in try loop.readiness(of: descriptor, for: .writable) {
        unsent.removeFirst(Socket.send(descriptor, unsent))
        if unsent.isEmpty { break }
      }
    }
  }

  /// Sleeps by a timer of the loop, as long as the visitor may be silent at least, and then looks.
  private func losePatience() async throws {
    while true {
      let end = lastHeard.advanced(by: idle)
      if end <= loop.clock.now { throw Farewell(text: "nothing was heard for \(idle)") }
      try await Task.sleep(until: end, tolerance: idle / 8, clock: loop.clock)
    }
  }
}
