internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// Bytes in a sealed memory file, mapped for reading: the owner of a `ByteStorage`.
final class MemoryFile: @unchecked Sendable {
  fileprivate let bytes: UnsafeRawPointer
  let count: Int
  /// To be sent to other processes, also back to where it came from; -1: only the mapping was kept.
  let fileDescriptor: Int32
  private let forkGeneration = Kernel.forkGeneration
  /// Of another process's.
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

  /// Of other processes' files so many keep their descriptors in this one. What is sent on without is copied.
  private static let kept = Atomic<Int>(0)
  private static let mostKept = 64

  /// Another process's, checked: the descriptor is the file's then. A status of the core if it is not what it must be,
  /// or cannot be mapped: then a call has failed (`RunLoopError.failedCall`).
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

  /// Some of its bytes, as a storage of their own.
  func storage(_ offset: Int, _ count: Int) -> ByteStorage {
    let start = UnsafeMutableRawPointer(mutating: bytes + offset)
    return ByteStorage.make(UnsafeMutableRawBufferPointer(start: start, count: count), owner: self)
  }
}

extension RunLoop.Message.Bytes {
  /// Bytes in memory that other processes can map: a message with them copies nothing, however often they are sent.
  /// Worth it from some hundred kilobytes on; a descriptor stays open as long as the bytes live.
  ///
  /// - Parameters:
  ///   - capacity: In bytes.
  ///   - body: Initialises the memory, which is zero, and returns how many bytes to keep, from its start. No process
  ///     can change them when it has returned (memfd_create(2), F_SEAL_WRITE).
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

  /// The memory file that can be sent in their place, and where they begin in it.
  var place: (file: MemoryFile, offset: Int)? {
    guard let storage, let file = storage.header.owner as? MemoryFile, file.fileDescriptor >= 0 else { return nil }
    return (file, storage.base - file.bytes + startIndex)
  }
}
