import FlyingFox
import FlyingSocks
import Glibc
import RunLoopKit
import RunLoopSocketPool

/// FlyingFox's HTTP server with sockets that wait on a run loop, and with its own epoll pool: keep-alive requests over
/// many connections, in runs that take turns. Prints the throughput of each, and the ratio.

let (connections, rounds, runs) = (1000, 10, 7)

/// Both ends are in this process.
func allowDescriptors(_ count: Int) -> Bool {
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  guard limit.rlim_max >= count else { return false }
  limit.rlim_cur = max(limit.rlim_cur, rlim_t(count))
  return setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
}

/// Answers a second.
func throughput(of pool: some AsyncSocketPool) async throws -> Double {
  let server = try await Server(pool: pool)
  let port = server.port
  let rate = try await onThread {
    let client = try Client(connections: connections, port: port)
    defer { client.close() }
    _ = try client.ask(rounds: 1)  // all are accepted
    let start = ContinuousClock.now
    let answers = try client.ask(rounds: rounds)
    precondition(answers == connections * rounds)
    return Double(answers) / ((ContinuousClock.now - start) / .seconds(1))
  }
  await server.stop()
  return rate
}

/// The client blocks its thread.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  let thread = RunLoop.Thread(name: "client")
  try await thread.start()
  let result = try await thread.loop!.performAndWait(block: body)
  thread.stop()
  try await thread.join()
  return result
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

func compare() async throws {
  let thread = RunLoop.Thread(name: "sockets")
  try await thread.start()
  var rates: (epoll: [Double], loop: [Double]) = ([], [])
  for _ in 1...runs {
    rates.epoll.append(try await throughput(of: .ePoll(maxEvents: 20)))
    rates.loop.append(try await throughput(of: RunLoopSocketPool(on: thread.loop!)))
  }
  thread.stop()
  try await thread.join()
  print("\(connections * rounds) requests over \(connections) connections, \(runs) runs of each in turn; medians:")
  print("its epoll pool: \(Int(median(rates.epoll))) requests/s")
  print("on a run loop:  \(Int(median(rates.loop))) requests/s")
  let ratios = zip(rates.loop, rates.epoll).map { $0 / $1 }.sorted()
  print("ratio: \(hundredths(median(ratios))) (\(hundredths(ratios.first!)) to \(hundredths(ratios.last!)))")
}

func hundredths(_ value: Double) -> Double { (value * 100).rounded() / 100 }

if allowDescriptors(2 * connections + 100) {
  try await compare()
} else {
  print("skipped 1: fox: no \(2 * connections + 100) descriptors here (RLIMIT_NOFILE)")
}
