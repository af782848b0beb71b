import Glibc
import TestSupport
import XCTest

/// What was answered `OK` is there again, whatever happened.
final class DurabilityTests: XCTestCase {
  private let directory = Directory()

  override func setUp() { directory.write("drain-timeout = 10ms\n", to: "kvd.conf") }

  func testKillsLoseNothing() throws {
    try killAgainAndAgain(rounds: 15, valueSize: 20)
  }

  func testKillsWhileTheLogIsCompactedLoseNothing() throws {
    directory.write("compact-threshold = 2k\n", to: "kvd.conf")
    try killAgainAndAgain(rounds: 15, valueSize: 200)
  }

  private func killAgainAndAgain(rounds: Int, valueSize: Int) throws {
    var random = Random(seed: UInt64(valueSize))
    var state: [String: Int] = [:]
    var last = 0
    var kvd = try Kvd(in: directory)
    for round in 0..<rounds {
      var writers = try Writers(to: kvd, after: last, valueSize: valueSize)
      try writers.write(Int.random(in: 1...300, using: &random), random: &random)
      kvd.kill()
      kvd = try Kvd(in: directory)
      XCTAssertEqual(try writers.complaints(about: kvd, earlier: state), [], "round \(round)")
      state = try writers.state(of: kvd, earlier: state)
      last = writers.last
    }
    XCTAssertGreaterThan(state.count, 10)
  }

  /// Cuts the last batch at every byte.
  func testTornBatchIsCutOff() throws {
    try stop(try written(["SET a one", "SET b two"]))
    let whole = directory.read("kvd.log")
    let size = 8 + 8 + 4 + "bthree".utf8.count
    try stop(try written(["SET b three"]))
    let log = directory.read("kvd.log")
    XCTAssertEqual(log.count, whole.count + size)
    for cut in 0..<size {
      directory.write(Array(log[..<(whole.count + cut)]), to: "kvd.log")
      let kvd = try Kvd(in: directory)
      let client = try Connection(to: kvd.port)
      XCTAssertEqual(try client.ask("GET a"), "VALUE one")
      XCTAssertEqual(try client.ask("GET b"), "VALUE two")
      // What is written after the cut is found behind it.
      XCTAssertEqual(try client.ask("SET c four"), "OK")
      try stop(kvd)
      let again = try Kvd(in: directory)
      XCTAssertEqual(try Connection(to: again.port).ask("GET c"), "VALUE four", "cut at \(cut)")
    }
  }

  /// A bit in every byte of the last batch that leaves a plausible length.
  func testAFlippedBitInTheLastBatchIsCutOff() throws {
    try stop(try written(["SET a one"]))
    let whole = directory.read("kvd.log")
    try stop(try written(["SET b two"]))
    let log = directory.read("kvd.log")
    for offset in (whole.count + 4)..<log.count {
      var flipped = log
      flipped[offset] ^= UInt8(1 << (offset % 8))
      directory.write(flipped, to: "kvd.log")
      let kvd = try Kvd(in: directory)
      let client = try Connection(to: kvd.port)
      XCTAssertEqual(try client.ask("GET a"), "VALUE one", "\(offset)")
      XCTAssertEqual(try client.ask("GET b"), "NONE", "\(offset)")
      XCTAssertNotNil(try kvd.notes.next(containing: "cut off"), "\(offset)")
      XCTAssertEqual(directory.read("kvd.log"), whole)
      kvd.kill()
      for name in directory.names where name.hasPrefix("kvd.log.tail-") { directory.remove(name) }
    }
  }

  /// The power fails within one commit that was not answered, of several requests: each set of its sectors may be missing.
  func testWhateverSectorsOfTheLastCommitAreMissing() throws {
    try stop(try written(["SET a answered"]))
    for fill in [0, 440, 443] {  // so that the header of the batch lies across two sectors, too
      if fill > 0 { try stop(try written(["SET f \(String(repeating: "f", count: fill - Self.others))"])) }
      let whole = directory.read("kvd.log")
      let kvd = try Kvd(in: directory)
      let client = try Connection(to: kvd.port)
      try client.send((0..<3).map { "SET b\($0) \(String(repeating: "x", count: 600))\n" }.joined())
      for _ in 0..<3 { XCTAssertEqual(try client.answers.next(), "OK") }
      try stop(kvd)
      let log = directory.read("kvd.log")
      let length = log[whole.count..<(whole.count + 4)].reversed().reduce(0) { $0 << 8 | Int($1) }
      XCTAssertEqual(whole.count + 8 + length, log.count, "one batch")
      let sectors = (whole.count / 512)...((log.count - 1) / 512)
      for missing in 1..<(1 << sectors.count) {
        var torn = log
        for (index, sector) in sectors.enumerated() where missing & 1 << index != 0 {
          for offset in max(whole.count, sector * 512)..<min(log.count, (sector + 1) * 512) { torn[offset] = 0 }
        }
        directory.write(torn, to: "kvd.log")
        let again = try Kvd(in: directory)
        let reader = try Connection(to: again.port)
        XCTAssertEqual(try reader.ask("GET a"), "VALUE answered", "\(fill) \(missing)")
        XCTAssertEqual(try reader.ask("GET b2"), "NONE", "\(fill) \(missing)")
        XCTAssertEqual(directory.read("kvd.log"), whole)
        again.kill()
        for name in directory.names where name.hasPrefix("kvd.log.tail-") { directory.remove(name) }
      }
      directory.write(whole, to: "kvd.log")
    }
  }

  /// What a log with "SET a answered" and a record f takes, but for the value of f.
  private static let others = 48 + (8 + 8 + 4 + "aanswered".utf8.count) + (8 + 8 + 4 + "f".utf8.count)

  func testDamagedTailIsCutOff() throws {
    try stop(try written(["SET a one", "SET b two"]))
    let log = directory.read("kvd.log")
    var flipped = log
    flipped[log.count - 1] ^= 1
    let tails: [(String, [UInt8], String)] = [
      ("zeros", log + [UInt8](repeating: 0, count: 4096), "VALUE two"),
      ("a header without a body", log + [200, 0, 0, 0, 1, 2, 3, 4], "VALUE two"),
      ("a bit", flipped, "NONE"),
      ("a bit, and zeros", flipped + [UInt8](repeating: 0, count: 4096), "NONE"),
    ]
    for (name, bytes, answer) in tails {
      directory.write(bytes, to: "kvd.log")
      let kvd = try Kvd(in: directory)
      let client = try Connection(to: kvd.port)
      XCTAssertEqual(try client.ask("GET a"), "VALUE one", name)
      XCTAssertEqual(try client.ask("GET b"), answer, name)
      XCTAssertNotNil(try kvd.notes.next(containing: "cut off"), name)
      // What was cut off is kept, unless it is zeros.
      let kept = directory.names.filter { $0.hasPrefix("kvd.log.tail-") }
      XCTAssertEqual(kept.count, name == "zeros" ? 0 : 1)
      for file in kept {
        XCTAssertEqual(directory.read("kvd.log") + directory.read(file), bytes, name)
        directory.remove(file)
      }
    }
  }

  func testFileThatIsNoLogIsLeftAlone() throws {
    directory.write("somebody's diary", to: "kvd.log")
    let kvd = try Kvd(arguments: ["--port", "0", "--dir", directory.path])
    XCTAssertEqual(kvd.wait(), 1)
    XCTAssertNotNil(try kvd.notes.next(containing: "is no log of kvd"))
    XCTAssertEqual(directory.read("kvd.log"), Array("somebody's diary".utf8))
    XCTAssertEqual(directory.names.sorted(), ["kvd.conf", "kvd.lock", "kvd.log"])
  }

  func testCrashWhileTheLogWasMade() throws {
    directory.write("KVD", to: "kvd.log")
    let kvd = try written(["SET a b"])
    XCTAssertEqual(try Connection(to: kvd.port).ask("GET a"), "VALUE b")
  }

  /// A quota stands for a disk that is full.
  func testWriteThatFailsIsNotAnsweredOK() throws {
    let kvd: Kvd
    do {
      kvd = try Kvd(in: directory, limits: "ulimit -f 8")
    } catch  where "\(error)".contains("ThreadSanitizer") {
      throw XCTSkip("SKIPPED 1: ThreadSanitizer has files of its own, which the limit cuts off")
    }
    let client = try Connection(to: kvd.port)
    let value = String(repeating: "v", count: 500)
    var stored = 0
    while try client.ask("SET k\(stored) \(value)") == "OK" { stored += 1 }
    XCTAssertGreaterThan(stored, 2)
    // In one write: the answers in between are right, and what was not stored is not there.
    try client.send("PING\nSET x \(value)\nGET x\nGET k0\nPING\n")
    XCTAssertEqual(try client.answers.next(), "PONG")
    XCTAssertEqual(try client.answers.next(), "ERROR not stored")
    XCTAssertEqual(try client.answers.next(), "ERROR not stored")
    XCTAssertEqual(try client.answers.next(), "VALUE \(value)")
    XCTAssertEqual(try client.answers.next(), "PONG")
    XCTAssertEqual(try client.ask("GET x"), "NONE")
    XCTAssertEqual(try client.ask("GET k\(stored)"), "NONE")
    try stop(kvd)

    let again = try Kvd(in: directory)
    let reader = try Connection(to: again.port)
    for number in 0..<stored { XCTAssertEqual(try reader.ask("GET k\(number)"), "VALUE \(value)") }
    XCTAssertEqual(try reader.ask("GET k\(stored)"), "NONE")
    XCTAssertEqual(try reader.ask("SET x there is room now"), "OK")
  }

  func testOneDaemonForADirectory() throws {
    let kvd = try Kvd(in: directory)
    let second = try Kvd(arguments: ["--port", "0", "--dir", directory.path])
    XCTAssertEqual(second.wait(), 1)
    XCTAssertNotNil(try second.notes.next(containing: "is another daemon's"))
    XCTAssertEqual(try Connection(to: kvd.port).ask("PING"), "PONG")
  }

  /// A lock that a child shares, as flock(2)'s, outlives a daemon that is killed while it starts one.
  func testTheDirectoryIsLockedForTheDaemonAlone() throws {
    let kvd = try Kvd(in: directory)
    let file = open(directory.path + "/kvd.lock", O_RDWR)
    defer { close(file) }
    var asked = flock()
    asked.l_type = Int16(F_WRLCK)
    XCTAssertEqual(fcntl(file, F_GETLK, &asked), 0)
    XCTAssertEqual(asked.l_type, Int16(F_WRLCK))
    XCTAssertEqual(asked.l_pid, kvd.processID)
  }

  private func written(_ requests: [String]) throws -> Kvd {
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    for request in requests { XCTAssertEqual(try client.ask(request), "OK") }
    return kvd
  }

  private func stop(_ kvd: Kvd) throws {
    kvd.send(SIGTERM)
    XCTAssertEqual(kvd.wait(), 0)
  }
}
