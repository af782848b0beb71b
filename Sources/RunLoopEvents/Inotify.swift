import RunLoopKit
internal import RunLoopLibc

/// The calls of inotify(7) on one descriptor. Its owner closes the descriptor.
struct Inotify {
  let descriptor: Int32

  /// Bits that the kernel sets in the mask of an event.
  static let (unmounted, overflow, ignored, folder): (UInt32, UInt32, UInt32, UInt32) =
    (0x2000, 0x4000, 0x8000, 0x4000_0000)
  private static let addToMask: UInt32 = 0x2000_0000

  /// Room for fifteen events with the longest names.
  private static let readSize = 4096

  struct Record {
    /// The number of the target; -1 if the event has none.
    let target: Int32
    let mask: UInt32
    let cookie: UInt32
    let name: ArraySlice<UInt8>
    /// Its size in the kernel's queue, in bytes.
    let size: Int
  }

  /// Watches the path's target for these events, in addition to those for which the kernel watches it already. Returns
  /// the number of the target, which is the same for all its names; or `-errno`.
  func watch(_ path: [UInt8], adding mask: UInt32) -> Int32 { call(path, mask | Self.addToMask) }

  private func call(_ path: [UInt8], _ mask: UInt32) -> Int32 {
    let answer = (path + [0]).withUnsafeBufferPointer {
      $0.withMemoryRebound(to: CChar.self) { inotify_add_watch(descriptor, $0.baseAddress!, mask) }
    }
    return answer < 0 ? -errno : answer
  }

  /// Watches the target for these events only. Returns false if the target may still be watched for more. If the path
  /// names another target now, adds the events to that one and sets `other` to its number.
  func narrow(_ target: Int32, at path: [UInt8], to mask: UInt32, other: inout Int32?) -> Bool {
    // Both calls use one open file, because the path could come to name another file in between.
    let opened = (path + [0]).withUnsafeBufferPointer {
      $0.withMemoryRebound(to: CChar.self) { open($0.baseAddress!, Self.pathOnly | O_CLOEXEC) }
    }
    guard let file = try? RunLoopError.checkDescriptor(opened, "open") else { return false }
    defer { _ = close(file) }
    let link = Array("/proc/self/fd/\(file)".utf8)
    let found = watch(link, adding: mask)
    if found >= 0, found != target { other = found }
    return found == target && call(link, mask) == target
  }

  /// O_PATH of open(2), which the headers may lack.
  private static let pathOnly: Int32 = 0o10_000_000

  /// Stops watching the target. The kernel reports `ignored` for it after its other events.
  func remove(_ target: Int32) { _ = inotify_rm_watch(descriptor, target) }

  /// The size of the events in the kernel's queue, in bytes.
  var pendingBytes: Int {
    var count: Int32 = 0
    // FIONREAD, a macro that Swift does not import.
    return ioctl(descriptor, 0x541B, &count) < 0 ? 0 : Int(count)
  }

  /// Reads some of the oldest events; empty if there are none.
  func read() -> [Record] {
    let bytes = Self.read(descriptor, upTo: Self.readSize)
    var (records, next) = ([Record](), 0)
    let headerSize = MemoryLayout<inotify_event>.size
    while next < bytes.count {
      let header = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: next, as: inotify_event.self) }
      let size = headerSize + Int(header.len)
      let name = bytes[(next + headerSize)..<(next + size)].prefix { $0 != 0 }
      records.append(Record(target: header.wd, mask: header.mask, cookie: header.cookie, name: name, size: size))
      next += size
    }
    return records
  }

  /// The targets that the kernel watches, from /proc; empty if /proc cannot be read.
  var listedTargets: Set<Int32> {
    var targets: Set<Int32> = []
    for line in text(ofFile: "/proc/self/fdinfo/\(descriptor)").split(separator: UInt8(ascii: "\n")) {
      let text = String(decoding: line, as: UTF8.self)
      guard text.hasPrefix("inotify wd:") else { continue }
      if let target = Int32(text.dropFirst(11).prefix { $0 != " " }, radix: 16) { targets.insert(target) }
    }
    return targets
  }

  private func text(ofFile path: String) -> [UInt8] {
    guard let file = try? RunLoopError.checkDescriptor(open(path, O_RDONLY | O_CLOEXEC), "open") else { return [] }
    defer { _ = close(file) }
    var text: [UInt8] = []
    while case let part = Self.read(file, upTo: 65_536), !part.isEmpty { text += part }
    return text
  }

  private static func read(_ file: Int32, upTo size: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
      var count = 0
      repeat { count = RunLoopLibc.read(file, buffer.baseAddress, size) } while count < 0 && errno == EINTR
      initialized = max(count, 0)
    }
  }
}
