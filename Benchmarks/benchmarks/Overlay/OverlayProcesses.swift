import CMeasure
import Glibc
import Measuring
import RunLoopKit
import RunLoopPorts

/// Between two processes: this one, and one that `benchmarks far` is. Each has a loop with a port; the other's has a name.
extension Overlay {
  private struct Hop {
    var sentAt: UInt64 = 0
    var sampled = 0
    var wanted = 0
    var samples: UnsafeMutablePointer<UInt32>?
  }

  private static let roundsAtFirst = 200

  /// A port in this process, the right to one in the other, and 64 bytes that go there and back.
  static let portXRoundTrip: Body = { args, result in
    let other = try OtherProcess("port_xrtt", args)
    bench_pin(args.placement, 0)
    let loop = RunLoop.current
    let right = try other.connect()
    let shared = Shared(Hop())
    let bytes = RunLoop.Message.Bytes([UInt8](repeating: 0, count: 64))
    let near = RunLoop.Port { port, message in
      require(message.bytes?.count == 64, "a message of another size")
      let now = bench_now()
      let state = shared.state
      state.pointee.samples?[state.pointee.sampled] = UInt32(truncatingIfNeeded: now - state.pointee.sentAt)
      state.pointee.sampled += 1
      if state.pointee.sampled == state.pointee.wanted { return loop.stop() }
      state.pointee.sentAt = now
      try? right.send(RunLoop.Message(bytes: bytes, reply: port.sendRight))
    }
    try loop.add(near)
    func run(_ wanted: Int) throws {
      shared.state.pointee.sampled = 0
      shared.state.pointee.wanted = wanted
      shared.state.pointee.sentAt = bench_now()
      try right.send(RunLoop.Message(bytes: bytes, reply: near.sendRight))
      try loop.run()
    }
    try run(roundsAtFirst)
    let samples = UnsafeMutablePointer<UInt32>(OpaquePointer(calloc(Int(args.count), 4)))!
    shared.state.pointee.samples = samples

    bench_begin(&result)
    try run(Int(args.count))
    bench_end(&result)

    other.end(right)
    result.operations = UInt64(args.count)
    result.samples = samples
    result.sample_count = shared.state.pointee.sampled
  }

  /// A payload that is made in memory of this process, or where the other one will find it.
  static let portBig: Body = { args, result in
    let other = try OtherProcess("port_big", args)
    bench_pin(args.placement, 0)
    let right = try other.connect()
    let size = Int(args.size)
    let words = UInt64(size / 8)

    bench_begin(&result)
    for index in 0..<UInt64(args.count) {
      let fill: (UnsafeMutableRawBufferPointer) -> Int = {
        bench_fill($0.baseAddress, size, index)
        return size
      }
      let bytes =
        args.active != 0
        ? try RunLoop.Message.Bytes(sharing: size, initializingWith: fill)
        : RunLoop.Message.Bytes(unsafeUninitializedCapacity: size, initializingWith: fill)
      let sum = try right.request(RunLoop.Message(bytes: bytes)).bytes?.withUnsafeBytes {
        $0.load(as: UInt64.self)
      }
      require(sum == index &* words &+ words * (words - 1) / 2, "another sum")
    }
    bench_end(&result)

    other.end(right)
    result.operations = UInt64(args.count)
  }

  /// What the other process answers.
  static let answers: [String: @Sendable (RunLoop.Message.Bytes) -> RunLoop.Message.Bytes] = [
    "port_xrtt": { $0 },
    "port_big": { bytes in
      var sum = bytes.withUnsafeBytes { bench_sum($0.baseAddress, $0.count) }
      return withUnsafeBytes(of: &sum) { RunLoop.Message.Bytes(copying: $0) }
    },
  ]
}

/// The other process; a runtime such as Swift's does not survive fork(2), so it is this program once more.
struct OtherProcess {
  /// The id of the last message.
  static let end: UInt32 = 1
  private let processID: Int32
  private let name: String

  init(_ workload: String, _ args: bench_args) throws {
    name = "benchmarks.\(getpid())"
    let words = [Child.program, "far", workload, name, "--placement", "\(args.placement)"]
    var arguments = words.map { strdup($0) }
    arguments.append(nil)
    processID = bench_start(&arguments)
  }

  /// As soon as it can be.
  func connect() throws -> RunLoop.Port.SendRight {
    let deadline = RunLoop.Instant.now.advanced(by: .seconds(30))
    while true {
      do {
        return try RunLoop.Port.connect(to: name)
      } catch RunLoopError.noSuchPort where RunLoop.Instant.now < deadline {
        usleep(1000)
      } catch {
        throw Failure("\(error)")
      }
    }
  }

  /// It takes its name back, and ends.
  func end(_ right: RunLoop.Port.SendRight) {
    try? right.send(RunLoop.Message(id: Self.end))
    while waitpid(processID, nil, 0) < 0 && errno == EINTR {}
  }
}
