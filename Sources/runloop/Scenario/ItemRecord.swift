import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc
import Synchronization

/// An item of a scenario while it runs.
final class ItemRecord: Sendable {
  let declaration: ItemDeclaration
  let rules: [Scenario.Rule]
  private let state = Mutex(State())

  private struct State {
    /// The interpreter's only reference to the item.
    var item: RunLoop.Item?
    var ports = Ports(reading: -1, writing: -1)
    /// The item retains it.
    weak var context: ItemContext?
    var calls = 0
    /// The number of the item's callouts that are on the stack.
    var openCalls = 0
    var callsPerActivity: [UInt: Int] = [:]
  }

  /// The two ends of a pipe; for an eventfd the same descriptor twice.
  struct Ports: Sendable {
    let reading: Int32
    let writing: Int32
  }

  /// Call numbers, starting with 1.
  struct CallNumbers {
    let total: Int
    let ofActivity: Int
  }

  init(declaration: ItemDeclaration, rules: [Scenario.Rule]) {
    self.declaration = declaration
    self.rules = rules
  }

  var name: String { declaration.name }
  var item: RunLoop.Item? { state.withLock { $0.item } }
  var ports: Ports { state.withLock { $0.ports } }
  var calls: Int { state.withLock { $0.calls } }

  func store(_ item: RunLoop.Item) {
    state.withLock { $0.item = item }
  }

  func store(_ context: ItemContext) {
    state.withLock { $0.context = context }
  }

  func store(_ ports: Ports) {
    state.withLock { $0.ports = ports }
  }

  /// Releases the reference outside of the lock, because the release may destroy the item.
  func drop() {
    _ = state.withLock { $0.item.take() }
  }

  /// Ends the context of a timer or an observer while its callout runs. The closure has the context and lives until the
  /// callout returns, but the model releases the context at once (rule 54).
  func wasInvalidated() {
    guard declaration.kind == .timer || declaration.kind == .observer else { return }
    state.withLock { $0.openCalls > 0 ? $0.context : nil }?.end()
  }

  func endCall() {
    state.withLock { $0.openCalls -= 1 }
  }

  func beginCall(_ activity: RunLoop.Activity) -> CallNumbers {
    state.withLock { state in
      state.openCalls += 1
      state.calls += 1
      state.callsPerActivity[activity.rawValue, default: 0] += 1
      return CallNumbers(total: state.calls, ofActivity: state.callsPerActivity[activity.rawValue]!)
    }
  }
}

extension ItemRecord.Ports {
  /// Makes the descriptors, non-blocking and close-on-exec.
  static func make(_ port: ItemDeclaration.Port) -> Result<Self, PortError> {
    if case .pipe = port {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { return .failure(PortError(number: errno)) }
      for end in ends {
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      }
      return .success(Self(reading: ends[0], writing: ends[1]))
    }
    // The Glibc module lacks eventfd(2).
    let counter = rlc_kernel_default().pointee.eventfd_create(nil)
    return counter < 0 ? .failure(PortError(number: -counter)) : .success(Self(reading: counter, writing: counter))
  }

  struct PortError: Error {
    let number: Int32
  }

  var isReadable: Bool {
    var entry = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) == 1
  }

  /// Writes the eight-byte number 1.
  func writeOne() -> Bool {
    var one: UInt64 = 1
    return write(writing, &one, 8) == 8
  }
}
