import ExampleSupport
import Glibc
import RunLoopKit

/// Accounts, and on which threads they were touched.
actor Ledger {
  private let loop: RunLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }
  private var accounts: [Int: Int] = [:]
  private(set) var threads: [String] = []
  private var closings: [Int] = []

  init(on loop: RunLoop) { self.loop = loop }

  var total: Int { accounts.values.reduce(0, +) }

  func book(_ amount: Int, to account: Int) {
    accounts[account, default: 0] += amount
    let name = Self.threadName
    if threads.last != name { threads.append(name) }
  }

  /// The totals at so many ticks of a timer.
  func close(after count: Int) async throws -> [Int] {
    let timer = try loop.assumeOnLoop { local in
      // The actor's own closure: it touches the actor without `await`.
      try local.timer(after: .zero, interval: .milliseconds(1)) { _ in self.closings.append(self.total) }
    }
    defer { timer.invalidate() }
    while closings.count < count { try await Task.sleep(for: .milliseconds(1), clock: loop.clock) }
    return Array(closings.prefix(count))
  }

  func errorOfAnotherTimer() -> RunLoopError? {
    do {
      try loop.add(RunLoop.Timer(after: .zero) { _ in })
      return nil
    } catch {
      return error as? RunLoopError
    }
  }

  /// As the kernel has it.
  private static var threadName: String {
    let descriptor = Ending.ifFailed("open", open("/proc/thread-self/comm", O_RDONLY | O_CLOEXEC))
    defer { Glibc.close(descriptor) }
    let name = [UInt8](unsafeUninitializedCapacity: 32) { $1 = max(0, read(descriptor, $0.baseAddress, $0.count)) }
    return String(decoding: name.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }
}
