internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

/// The lock, the socket and the number of a name. Once in a process: locks of fcntl(2) are the process's.
final class NameClaim: Sendable {
  let name: String
  /// The listener's: when it is closed the name is free.
  let owned: OwnedDescriptor
  /// Not changed until it is released, with the last hold on `owned`.
  nonisolated(unsafe) private let claim: rlc_port_name
  private let spare: SpareDescriptor

  init(_ name: String) throws(RunLoopError) {
    guard rlc_port_name_is_valid(name) else { throw .badName(PortWords.quoted(name)) }
    self.name = name
    // A fork's child may own the same name, if the parent gives it up.
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

  /// The name leads here still.
  var isOwned: Bool {
    guard owned.hold() else { return false }
    defer { owned.release() }
    return withUnsafePointer(to: claim) { rlc_port_name_is_owned($0) }
  }

  /// A descriptor, the caller's, that tells when `isOwned` may have changed; nil if the name is lost already.
  func watch() throws(RunLoopError) -> Int32? {
    guard owned.hold() else { return nil }
    defer { owned.release() }
    let watch = withUnsafePointer(to: claim) { rlc_port_name_watch($0) }
    if watch >= 0 { return watch }
    let error = PortWords.failure(of: name, in: claim.folder, watch)
    guard error == .system(ESTALE), error.call == nil else { throw error }
    return nil
  }

  /// This process cannot take a connection, perhaps because it has no number left for it: one that was kept for that is
  /// used to tell it so. False if that cannot be done either.
  func refuseOne(_ terms: PortTerms, _ error: Int32) -> Bool {
    let reason = NameClaim.reason(RunLoopError.system(error, call: "accept4"))
    let isRefused = spare.lend {
      let accepted = rlc_message_socket_accept(owned.fileDescriptor)
      if accepted >= 0 { Channel.turnAway(accepted, reason) }
      return accepted >= 0 || accepted == -EAGAIN  // it has left meanwhile
    }
    if isRefused { terms.refused(RunLoop.Refusal(peer: nil, reason: reason)) }
    return isRefused
  }

  /// Also sent to the other process, so that its error names the cause.
  static func reason(_ error: any Error) -> String {
    let errno = (error as? RunLoopError)?.errno
    return errno == EMFILE || errno == ENFILE ? "no descriptors are left here" : "\(error)"
  }
}

/// The names that this process has claimed, or is about to.
private final class ClaimedNames: ProcessWideObject, @unchecked Sendable {
  private let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// Guarded by `lock`.
  private var names: Set<String> = []

  private static let shared = ProcessWide<ClaimedNames>()

  static var current: ClaimedNames { shared.current(ClaimedNames.init) }

  /// False if it is among them already.
  func insert(_ name: String) -> Bool { lock.withLock { names.insert(name).inserted } }

  func remove(_ name: String) { lock.withLock { _ = names.remove(name) } }
}

/// A number that is kept for the moment in which there is no other.
private final class SpareDescriptor: @unchecked Sendable {
  private let lock = Lock()
  /// Guarded by `lock`; -1 if there was none.
  private var descriptor = SpareDescriptor.open()

  private static func open() -> Int32 {
    rlc_descriptor_adopt(RunLoopLibc.open("/dev/null", O_RDONLY | O_CLOEXEC))
  }

  /// Gives it up while `body` runs, under the lock. False if there is none.
  func lend(_ body: () -> Bool) -> Bool {
    lock.withLock {
      if descriptor < 0 { descriptor = SpareDescriptor.open() }  // there may be one by now
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
