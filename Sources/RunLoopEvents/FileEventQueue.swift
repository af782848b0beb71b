import RunLoopKit
internal import Synchronization

/// The events of one watch that were read and not yet delivered. The reader's lock guards the variables.
final class FileEventQueue: @unchecked Sendable {
  let path: [UInt8]
  /// Bits of inotify(7).
  let mask: UInt32
  /// Readable while there is an event, so that the loops of the watch's modes wake.
  let port: EventPort
  /// Nil before the watch is initialised, and after it was destroyed.
  weak var watch: RunLoop.FileWatch?
  /// The watched file or folder, the target, as a number of the inotify instance; -1 once the target is gone.
  var target: Int32 = -1
  private var events = Row<RunLoop.FileWatch.Event>()
  private var isFlagUp = false
  /// True once `.ended` was appended: no event follows it.
  private var hasEnded = false
  private let hasLeft = Atomic<Bool>(false)

  /// At most this many events wait for the watch. The kernel's default for an inotify instance is the same.
  private static let mostEvents = 16_384

  init(_ path: [UInt8], mask: UInt32) throws(RunLoopError) {
    self.path = path
    self.mask = mask
    port = try EventPort(inner: nil)
  }

  var isEmpty: Bool { events.isEmpty }

  /// Appends an event. One `.overflow` replaces events that do not fit, as in the kernel's queue.
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

  /// Called when the watch is invalid or destroyed. Returns true only the first time. - Thread: Any.
  func leave() -> Bool { !hasLeft.exchange(true, ordering: .acquiringAndReleasing) }

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
