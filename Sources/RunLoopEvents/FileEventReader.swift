import RunLoopKit
internal import RunLoopLibc

/// An inotify instance with one watch: reads many events at once, and tells one after the other.
///
/// Only the thread of a loop that serves its watch takes events; a watch in modes of several loops has several, so
/// there is a lock.
final class FileEventReader: @unchecked Sendable {
  let port: EventPort
  private let lock = Lock()
  /// Guarded by `lock`: events that were read and not delivered, and where they begin.
  private var bytes: [UInt8] = []
  private var next = 0
  private var isFlagUp = false

  /// Room for at least sixteen events with long names.
  private static let readSize = 4096

  init(path: String, events: RunLoop.FileWatch.Event.Kinds) throws(RunLoopError) {
    let mask = events.intersection(.all).rawValue
    guard mask != 0, !path.utf8.contains(0) else {
      let detail = mask == 0 ? "\(path): no event to watch for was named" : "the path has a zero byte in it"
      throw .system(EINVAL, detail)
    }
    let made = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
    let descriptor = try RunLoopError.checkDescriptor(made, "inotify_init1", path)
    guard inotify_add_watch(descriptor, path, mask) >= 0 else {
      let error = errno
      RunLoop.closeDescriptor(descriptor)
      throw .system(error, call: "inotify_add_watch", path.isEmpty ? "the path is empty" : path)
    }
    port = try EventPort(inner: descriptor)
  }

  /// The oldest event; nil if there is none. While the port is held.
  func nextEvent() -> RunLoop.FileWatch.Event? {
    lock.withLock {
      while next < bytes.count || readMore() {
        if let event = parseNext() {
          showFlag()
          return event
        }
      }
      showFlag()
      return nil
    }
  }

  private func readMore() -> Bool {
    var count = 0
    bytes = [UInt8](unsafeUninitializedCapacity: Self.readSize) { buffer, initialized in
      repeat { count = read(port.inner, buffer.baseAddress, buffer.count) } while count < 0 && errno == EINTR
      initialized = max(count, 0)
    }
    next = 0
    return count > 0
  }

  /// Nil for what is of no interest.
  private func parseNext() -> RunLoop.FileWatch.Event? {
    let headerSize = MemoryLayout<inotify_event>.size
    let header = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: next, as: inotify_event.self) }
    let name = bytes[(next + headerSize)..<(next + headerSize + Int(header.len))].prefix { $0 != 0 }
    next += headerSize + Int(header.len)
    guard let kind = RunLoop.FileWatch.Event.Kind(mask: header.mask) else { return nil }
    return RunLoop.FileWatch.Event(
      kind: kind, name: name.isEmpty ? nil : String(decoding: name, as: UTF8.self), cookie: header.cookie,
      isDirectory: header.mask & 0x4000_0000 != 0)
  }

  private func showFlag() {
    let isWanted = next < bytes.count
    guard isWanted != isFlagUp else { return }
    port.setFlag(isWanted)
    isFlagUp = isWanted
  }
}

extension RunLoop.FileWatch.Event.Kind {
  fileprivate init?(mask: UInt32) {
    switch mask & 0xFFFF {
    case 0x1: self = .accessed
    case 0x2: self = .modified
    case 0x4: self = .attributes
    case 0x8: self = .closedAfterWriting
    case 0x10: self = .closedAfterReading
    case 0x20: self = .opened
    case 0x40: self = .movedAway
    case 0x80: self = .movedHere
    case 0x100: self = .created
    case 0x200: self = .deleted
    case 0x400: self = .targetDeleted
    case 0x800: self = .targetMoved
    case 0x2000: self = .unmounted
    case 0x4000: self = .overflow
    case 0x8000: self = .ended
    default: return nil
    }
  }
}
