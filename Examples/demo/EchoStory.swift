import Glibc
import RunLoopKit

extension Demo {
  /// A TCP service on one loop, with clients that behave well, and others.
  struct EchoStory: Story {
    let name = "echo"
    let title = "a TCP echo service on one loop"
    let textFile: String?

    private let length: Duration = .milliseconds(800)

    func tell(on stage: Stage) throws -> Outcome {
      let lines = try readLines()
      let loop = RunLoop.current
      let manners: [EchoClient.Manner] = [.reader, .reader, .reader, .pingPong, .glutton, .rude]
      let server = try EchoServer(on: loop, expectedClients: manners.count)
      let listening = try server.start()
      defer { listening.invalidate() }
      stage.say(
        "A listener and its connections are sources of one loop on one thread; only the loop blocks. Six clients "
          + "on threads of their own send it the lines of a text, and compare every byte that comes back.")
      stage.note("listening on 127.0.0.1:\(server.port); the text has \(grouped(lines.count)) lines")

      let start = RunLoop.Instant.now
      let clients = try manners.map { manner in
        let report = Handover<EchoClient.Report>()
        let client = EchoClient(manner: manner, lines: lines, deadline: start.advanced(by: length), server: server)
        return (worker: try Worker { report.give(client.run()) }, report: report)
      }
      let result = try loop.run(for: patience)
      let took = start.duration(to: .now)
      let reports = clients.map { client in
        client.worker.join()
        return client.report.take()
      }
      server.hangUp()
      introduce(manners, reports, on: stage)
      return judge(reports, server.counts.withLock { $0 }, result, took)
    }

    private func introduce(_ manners: [EchoClient.Manner], _ reports: [EchoClient.Report], on stage: Stage) {
      for (manner, report) in zip(manners, reports) {
        let lines = "\(grouped(report.lines)) lines"
        let text: String
        switch manner {
        case .reader: text = "a reader: \(lines), in pieces of 1 to 128 bytes"
        case .pingPong: text = "one that waits for each line: \(lines), median \(described(median(report.roundTrips)))"
        case .glutton: text = "one that would not read: \(lines), made to wait"
        case .rude: text = "one that left in the middle of a line, with a reset"
        }
        stage.note(report.problem.map { "\(text): \($0)" } ?? text)
      }
    }

    private func judge(
      _ reports: [EchoClient.Report], _ counts: EchoServer.Counts, _ result: RunLoop.RunResult, _ took: Duration
    ) -> Outcome {
      var outcome = Outcome()
      let bytes = reports.reduce(0) { $0 + $1.bytes }
      let lines = reports.reduce(0) { $0 + $1.lines }
      outcome.expect(
        "every byte came back to whom it belongs", reports.allSatisfy(\.isFaithful) && bytes > 0,
        seen: "\(grouped(bytes)) bytes")
      outcome.expect("the server counted the same lines", lines, seen: counts.lines, as: grouped)
      outcome.expect(
        "lines arrived in pieces and left whole", counts.halfLines > 0,
        seen: "\(grouped(counts.halfLines)) half lines")
      outcome.expect(
        "who does not read is not read from", counts.pauses > 0,
        seen: "\(counts.pauses) pause\(counts.pauses == 1 ? "" : "s")")
      outcome.expect("one reset was noticed and did not affect the others", 1, seen: counts.resets)
      outcome.expect("connections opened and closed", 6, seen: min(counts.accepted, counts.closed))
      outcome.expect("the last one to leave stopped the run", .stopped, seen: result)
      let pace = "\(rate(lines, in: took)) lines/s"
      let volume = "\(decimal(Double(bytes) / 1e6, places: 1)) MB"
      let roundTrip = median(reports.flatMap(\.roundTrips))
      outcome.figure = "\(volume), \(pace), round trip \(described(roundTrip))"
      return outcome
    }

    // MARK: The text

    /// A licence text that every Debian system has; a few lines of our own elsewhere.
    private func readLines() throws -> [[UInt8]] {
      let candidates =
        textFile.map { [$0] } ?? ["/usr/share/common-licenses/GPL-3", "/usr/share/common-licenses/GPL-2"]
      for path in candidates {
        let bytes = try? contents(of: path)
        let lines = bytes.map { $0.split(separator: UInt8(ascii: "\n")).map { Array($0) + [UInt8(ascii: "\n")] } } ?? []
        // Batches of lines must fit into the socket buffers of clients that write first and read then.
        if !lines.isEmpty && lines.allSatisfy({ $0.count <= 512 }) { return lines }
        if textFile != nil { throw UsageError(message: "\(path) is not a text of lines up to 511 bytes") }
      }
      return ["A loop waits.", "It wakes when there is something to do,", "does it,", "and waits again."]
        .map { Array("\($0)\n".utf8) }
    }

    private func contents(of path: String) throws -> [UInt8] {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw SystemError(call: "open \(path)", code: errno) }
      defer { close(descriptor) }
      let limit = 1 << 20
      var bytes: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 64 << 10)
      while bytes.count < limit {
        let count = read(descriptor, &chunk, chunk.count)
        guard count >= 0 else { throw SystemError(call: "read \(path)", code: errno) }
        if count == 0 { break }
        bytes += chunk.prefix(count)
      }
      return bytes
    }
  }
}
