import Glibc
import RunLoopKit

extension Demo {
  /// A client with plain blocking calls on a thread of its own. It checks every byte that comes back.
  struct EchoClient: Sendable {
    enum Manner: Equatable, Sendable {
      /// Sends some lines in odd pieces, then reads them back, again and again.
      case reader
      /// Sends a line, waits for it, sends the next.
      case pingPong
      /// Sends and does not read until the server has had enough of it.
      case glutton
      /// Leaves in the middle of a line, with a reset.
      case rude
    }

    struct Report: Sendable {
      var lines = 0
      var bytes = 0
      var isFaithful = true  // all came back, in order, and nothing else
      var roundTrips: [Duration] = []
      var problem: String?
    }

    let manner: Manner
    let lines: [[UInt8]]
    /// When the patient ones have sent enough.
    let deadline: RunLoop.Instant
    let server: EchoServer

    func run() -> Report {
      var report = Report()
      do {
        let window: Int32? = manner == .glutton ? 32 << 10 : nil
        let descriptor = try Socket.connect(to: server.port, receiveBuffer: window)
        guard manner != .rude else {
          _ = Socket.write(descriptor, Array("This line has no end"[...].utf8)[...], waiting: true)
          Socket.abort(descriptor)
          return report
        }
        defer { close(descriptor) }
        switch manner {
        case .reader: try read(descriptor, &report)
        case .pingPong: try pingPong(descriptor, &report)
        case .glutton: try devour(descriptor, &report)
        case .rude: break
        }
      } catch {
        endIfShort(error)
        report.isFaithful = false
        report.problem = "\(error)"
      }
      return report
    }

    // MARK: Manners

    private func read(_ descriptor: Int32, _ report: inout Report) throws {
      var pieces = OddLengths()
      var next = 0
      repeat {
        let batch = lines[next...].prefix(24)
        next = batch.endIndex % lines.count
        let text = Array(batch.joined())
        var rest = text[...]
        while !rest.isEmpty {
          let piece = rest.prefix(pieces.next())
          try sendAll(descriptor, piece)
          rest = rest.dropFirst(piece.count)
        }
        try expect(descriptor, text, &report)
        report.lines += batch.count
      } while RunLoop.Instant.now < deadline
      try farewell(descriptor, &report)
    }

    private func pingPong(_ descriptor: Int32, _ report: inout Report) throws {
      repeat {
        let line = lines[report.lines % lines.count]
        let sent = RunLoop.Instant.now
        try sendAll(descriptor, line[...])
        try expect(descriptor, line, &report)
        report.roundTrips.append(sent.duration(to: .now))
        report.lines += 1
      } while RunLoop.Instant.now < deadline
      try farewell(descriptor, &report)
    }

    private func devour(_ descriptor: Int32, _ report: inout Report) throws {
      let text = Array(lines.joined())
      var sent: [UInt8] = []
      let limit = 1 << 20  // far more than all the buffers on the way back hold
      while server.counts.withLock({ $0.pauses }) == 0 && sent.count < limit {
        let piece = text[(sent.count % text.count)...].prefix(8192)
        switch Socket.write(descriptor, piece, waiting: false) {
        case .moved(let count): sent += piece.prefix(count)
        case .wouldBlock: Demo.sleep(.milliseconds(1))
        case .failed(let code): throw SystemError(call: "send", code: code)
        case .ended: return
        }
      }
      Demo.wait { server.counts.withLock { $0.pauses } > 0 }
      shutdown(descriptor, Int32(SHUT_WR))
      try expect(descriptor, sent, &report)
      report.lines = sent.count { $0 == UInt8(ascii: "\n") }
      try expectEnd(descriptor, &report)
    }

    /// Half a line, then the end of what this side sends: it must come back, and then the end of the other side.
    private func farewell(_ descriptor: Int32, _ report: inout Report) throws {
      let half = Array("and half a line".utf8)
      try sendAll(descriptor, half[...])
      shutdown(descriptor, Int32(SHUT_WR))
      try expect(descriptor, half, &report)
      try expectEnd(descriptor, &report)
    }

    // MARK: Bytes

    private func sendAll(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) throws {
      var rest = bytes
      while !rest.isEmpty {
        switch Socket.write(descriptor, rest, waiting: true) {
        case .moved(let count): rest = rest.dropFirst(count)
        case .wouldBlock: throw SystemError(call: "send", code: ETIMEDOUT)
        case .failed(let code): throw SystemError(call: "send", code: code)
        case .ended: return
        }
      }
    }

    /// Reads as many bytes as `wanted` has and compares them.
    private func expect(_ descriptor: Int32, _ wanted: [UInt8], _ report: inout Report) throws {
      var done = 0
      while done < wanted.count {
        let rest = wanted[done...].prefix(16 << 10)
        let (count, isSame) = try receive(descriptor, atMost: rest.count) { rest.starts(with: $0) }
        guard count > 0 else { throw SystemError(call: "recv before all had come back", code: ECONNRESET) }
        if !isSame { report.isFaithful = false }
        done += count
      }
      report.bytes += wanted.count
    }

    private func expectEnd(_ descriptor: Int32, _ report: inout Report) throws {
      let (count, _) = try receive(descriptor, atMost: 1) { $0.isEmpty }
      if count != 0 { report.isFaithful = false }
    }

    /// Zero bytes are the end.
    private func receive(
      _ descriptor: Int32, atMost capacity: Int, _ compare: (UnsafeRawBufferPointer) -> Bool
    ) throws -> (count: Int, isSame: Bool) {
      try withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 16) { buffer in
        switch Socket.read(descriptor, into: buffer) {
        case .moved(let count): return (count, compare(UnsafeRawBufferPointer(rebasing: buffer[..<count])))
        case .ended: return (0, true)
        case .wouldBlock: throw SystemError(call: "recv", code: ETIMEDOUT)
        case .failed(let code): throw SystemError(call: "recv", code: code)
        }
      }
    }
  }

  /// Lengths from 1 to 128, the same in every run: the numbers of a linear congruential generator.
  private struct OddLengths {
    private var state: UInt32 = 20_240_229

    mutating func next() -> Int {
      state = state &* 1_664_525 &+ 1_013_904_223
      return Int(state >> 25) + 1
    }
  }
}
