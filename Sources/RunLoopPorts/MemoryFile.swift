internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// A sealed memory file, mapped for reading. It owns the memory of a `ByteStorage`.
final class MemoryFile: @unchecked Sendable {
  fileprivate let bytes: UnsafeRawPointer
  let count: Int
  /// Sent to other processes in place of the bytes; -1 if only the mapping was kept.
  let fileDescriptor: Int32
  private let forkGeneration = Kernel.forkGeneration
  /// Set for files of other processes.
  private let charge: PeerAccount.Charge?

  private init(
    _ bytes: UnsafeRawPointer, _ count: Int, _ fileDescriptor: Int32, _ charge: PeerAccount.Charge? = nil
  ) {
    self.bytes = bytes
    self.count = count
    self.fileDescriptor = fileDescriptor
    self.charge = charge
  }

  deinit {
    rlc_memory_file_unmap(bytes, UInt64(count))
    if charge != nil, fileDescriptor >= 0 { MemoryFile.kept.subtract(1, ordering: .relaxed) }
    if fileDescriptor >= 0, forkGeneration == Kernel.forkGeneration { close(fileDescriptor) }
  }

  /// How many files of other processes keep their descriptors in this process. At most `mostKept` do. The bytes of a
  /// file without a descriptor are copied when they are sent on.
  private static let kept = Atomic<Int>(0)
  private static let mostKept = 64

  /// Checks and maps a file of another process; the file then owns the descriptor. Returns a status of the core if the
  /// file is invalid, or cannot be mapped. In the latter case `RunLoopError.failedCall` names the call.
  static func map(
    _ fileDescriptor: Int32, count: Int, _ charge: PeerAccount.Charge
  ) -> (file: MemoryFile?, status: Int32) {
    var bytes: UnsafeRawPointer?
    let status = rlc_memory_file_map(fileDescriptor, UInt64(count), &bytes)
    guard let bytes else { return (nil, status) }
    if kept.add(1, ordering: .relaxed).newValue <= mostKept {
      return (MemoryFile(bytes, count, fileDescriptor, charge), 0)
    }
    kept.subtract(1, ordering: .relaxed)
    Unshared.close(fileDescriptor)
    return (MemoryFile(bytes, count, -1, charge), 0)
  }

  static func make<E: Error>(
    capacity: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(E) -> Int
  ) throws(E) -> Result<MemoryFile?, RunLoopError> {
    var memory: UnsafeMutableRawPointer?
    let file = rlc_memory_file_open(UInt64(capacity), &memory)
    guard file >= 0, let memory else { return .failure(.system(-file, call: RunLoopError.failedCall)) }
    let count: Int
    do {
      count = try fill(UnsafeMutableRawBufferPointer(start: memory, count: capacity))
    } catch {
      rlc_memory_file_unmap(memory, UInt64(capacity))
      close(file)
      throw error
    }
    precondition(count >= 0 && count <= capacity, "RunLoopKit: more bytes than there is room for")
    guard count > 0 else {
      rlc_memory_file_unmap(memory, UInt64(capacity))
      close(file)
      return .success(nil)
    }
    var bytes: UnsafeRawPointer?
    let status = rlc_memory_file_seal(file, memory, UInt64(capacity), UInt64(count), &bytes)
    guard status >= 0, let bytes else {
      let failure = RunLoopError.system(-status, call: RunLoopError.failedCall)
      close(file)
      return .failure(failure)
    }
    return .success(MemoryFile(bytes, count, file))
  }

  func storage(_ offset: Int, _ count: Int) -> ByteStorage {
    let start = UnsafeMutableRawPointer(mutating: bytes + offset)
    return ByteStorage.make(UnsafeMutableRawBufferPointer(start: start, count: count), owner: self)
  }
}

extension RunLoop.Message.Bytes {
  /// Creates bytes in memory that other processes can map. Sending them copies nothing, however often. Use it for some
  /// hundred kilobytes or more: a descriptor stays open as long as the bytes live.
  ///
  /// - Parameters:
  ///   - capacity: The size of the memory, in bytes.
  ///   - body: Initialises the memory, which is zero, and returns how many bytes to keep, from its start. After `body`
  ///     has returned, no process can change them (memfd_create(2), F_SEAL_WRITE).
  /// - Throws: A `RunLoopError.system`: `EMFILE`, `ENFILE`, `ENOMEM`, `ENOSPC`, `EFBIG` (RLIMIT_FSIZE).
  public init(
    sharing capacity: Int, initializingWith body: (UnsafeMutableRawBufferPointer) -> Int
  ) throws {
    guard capacity > 0 else {
      self.init()
      return
    }
    guard let file = try MemoryFile.make(capacity: capacity, body).get() else {
      self.init()
      return
    }
    let count = file.count
    self.init(file.storage(0, count))
  }

  /// The memory file that can be sent in place of the bytes, and their offset in it; nil if there is none.
  var place: (file: MemoryFile, offset: Int)? {
    guard let storage, let file = storage.header.owner as? MemoryFile, file.fileDescriptor >= 0 else { return nil }
    return (file, storage.base - file.bytes + startIndex)
  }
}
