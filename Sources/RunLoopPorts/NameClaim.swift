internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

/// Owns a port's name: its lock file and its socket. The lock, one of fcntl(2), does not keep the same process from a
/// second claim: `ClaimedNames` does.
final class NameClaim: Sendable {
  let name: String
  /// The listener's descriptor. Closing it frees the name.
  let owned: OwnedDescriptor
  /// Constant. Its descriptors and its path are valid until the last hold on `owned` ends.
  nonisolated(unsafe) private let claim: rlc_port_name
  private let spare: SpareDescriptor

  init(_ name: String) throws(RunLoopError) {
    guard rlc_port_name_is_valid(name) else { throw .badName(PortWords.quoted(name)) }
    self.name = name
    // A child of fork(2) has an empty set: it may claim a name that its parent releases.
    let names = ClaimedNames.current
    guard names.insert(name) else { throw .nameTaken(PortWords.quoted(name)) }
    var claim = rlc_port_name()
    do throws(RunLoopError) {
      let folder = try PortFolder.open()
      let status: Int32, refusal: Int32
      (status, refusal) = Unshared.section {
        let status = rlc_port_name_claim(folder, name, &claim)
        return (status, status < 0 ? 0 : Unshared.add(claim.listener))
      }
      if status == 0, refusal < 0 {
        let error = RunLoopError.system(-refusal, call: RunLoopError.failedCall, PortWords.port(name))
        rlc_port_name_release(&claim)
        RunLoopLibc.close(folder)
        throw error
      }
      if status < 0 {
        let error = PortWords.failure(of: name, in: folder, status)
        RunLoopLibc.close(folder)
        throw error == .system(EADDRINUSE) && error.call == nil ? .nameTaken(PortWords.quoted(name)) : error
      }
    } catch {
      names.remove(name)
      throw error
    }
    self.claim = claim
    let spare = SpareDescriptor()
    self.spare = spare
    nonisolated(unsafe) let claimed = claim
    owned = OwnedDescriptor(claim.listener) {
      let folder = claimed.folder
      var released = claimed
      Unshared.section {
        Unshared.remove(released.listener)
        rlc_port_name_release(&released)
      }
      RunLoopLibc.close(folder)
      spare.close()
      names.remove(name)
    }
  }

  /// True while the name leads to this claim's socket.
  var isOwned: Bool {
    guard owned.hold() else { return false }
    defer { owned.release() }
    return withUnsafePointer(to: claim) { rlc_port_name_is_owned($0) }
  }

  /// Returns a descriptor, owned by the caller, that becomes readable when `isOwned` may have changed; nil if the name
  /// is lost already.
  func watch() throws(RunLoopError) -> Int32? {
    guard owned.hold() else { return nil }
    defer { owned.release() }
    let watch = withUnsafePointer(to: claim) { rlc_port_name_watch($0) }
    if watch >= 0 { return watch }
    let error = PortWords.failure(of: name, in: claim.folder, watch)
    guard error == .system(ESTALE), error.call == nil else { throw error }
    return nil
  }

  /// Refuses a connection that cannot be accepted, mostly because this process has no descriptors left: accepts it with
  /// the spare descriptor, sends the reason, and closes it. False if that cannot be done either.
  func refuseOne(_ terms: PortTerms, _ error: Int32) -> Bool {
    let reason = NameClaim.reason(RunLoopError.system(error, call: "accept4"))
    let isRefused = spare.lend {
      let accepted = rlc_message_socket_accept(owned.fileDescriptor)
      if accepted >= 0 { Channel.turnAway(accepted, reason) }
      return accepted >= 0 || accepted == -EAGAIN  // -EAGAIN: the other process has left
    }
    if isRefused { terms.refused(RunLoop.Refusal(peer: nil, reason: reason)) }
    return isRefused
  }

  /// The reason in words, which is also sent to the other process.
  static func reason(_ error: any Error) -> String {
    let errno = (error as? RunLoopError)?.errno
    return errno == EMFILE || errno == ENFILE ? "no descriptors are left here" : "\(error)"
  }
}

/// The names that this process has claimed, or is about to claim.
private final class ClaimedNames: ProcessWideObject, @unchecked Sendable {
  private let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// Guarded by `lock`.
  private var names: Set<String> = []

  private static let shared = ProcessWide<ClaimedNames>()

  static var current: ClaimedNames { shared.current(ClaimedNames.init) }

  func insert(_ name: String) -> Bool { lock.withLock { names.insert(name).inserted } }

  func remove(_ name: String) { lock.withLock { _ = names.remove(name) } }
}

/// A descriptor that is kept open, so that closing it yields one when the process has no other left.
private final class SpareDescriptor: @unchecked Sendable {
  private let lock = Lock()
  /// -1 if none could be opened. Guarded by `lock`.
  private var descriptor = SpareDescriptor.open()

  private static func open() -> Int32 {
    rlc_descriptor_adopt(RunLoopLibc.open("/dev/null", O_RDONLY | O_CLOEXEC))
  }

  /// Closes the spare descriptor while `body` runs, under the lock. False if there is none.
  func lend(_ body: () -> Bool) -> Bool {
    lock.withLock {
      if descriptor < 0 { descriptor = SpareDescriptor.open() }  // the process may have one to spare by now
      guard descriptor >= 0 else { return false }
      RunLoopLibc.close(descriptor)
      defer { descriptor = SpareDescriptor.open() }
      return body()
    }
  }

  func close() {
    lock.withLock {
      if descriptor >= 0 { RunLoopLibc.close(descriptor) }
      descriptor = -1
    }
  }
}
