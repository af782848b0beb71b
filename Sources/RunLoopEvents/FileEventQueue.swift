import RunLoopKit
internal import Synchronization

/// The events of one watch that were read and not delivered. Guarded by the reader's lock, but for what is constant.
final class FileEventQueue: @unchecked Sendable {
  let path: [UInt8]
  /// Bits of inotify(7).
  let mask: UInt32
  /// Readable while there is an event: so the watch makes work in whatever modes it is in.
  let port: EventPort
  /// Nil before the watch is complete, and when it is gone.
  weak var watch: RunLoop.FileWatch?
  /// Its number in the reader's instance; -1: it is gone.
  var target: Int32 = -1
  @exclusivity(unchecked) private var events = Row<RunLoop.FileWatch.Event>()
  private var isFlagUp = false
  /// No event follows `.ended`.
  private var hasEnded = false
  private let hasLeft = Atomic<Bool>(false)

  /// As many as the kernel keeps for an instance by default.
  private static let mostEvents = 16_384

  init(_ path: [UInt8], mask: UInt32) throws(RunLoopError) {
    self.path = path
    self.mask = mask
    port = try EventPort(inner: nil)
  }

  var isEmpty: Bool { events.isEmpty }

  /// What does not fit is replaced by one `.overflow`, as in the kernel's queue.
  func append(_ event: RunLoop.FileWatch.Event) {
    guard !hasEnded else { return }
    if event.kind == .ended {
      hasEnded = true
      events.append(event)
    } else if events.count < Self.mostEvents {
      events.append(event)
    } else if events[events.count - 1].kind != .overflow {
      events.append(.overflow)
    }
    showFlag()
  }

  /// True once: the watch is gone. - Thread: Any.
  func leave() -> Bool { !hasLeft.exchange(true, ordering: .acquiringAndReleasing) }

  /// The oldest one.
  func takeFirst() -> RunLoop.FileWatch.Event? {
    let event = events.takeFirst()
    events.trim()
    showFlag()
    return event
  }

  private func showFlag() {
    guard events.isEmpty == isFlagUp, port.owned.hold() else { return }
    isFlagUp = !events.isEmpty
    port.setFlag(isFlagUp)
    port.owned.release()
  }
}
