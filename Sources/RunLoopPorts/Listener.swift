internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// A port's name, and the socket under which other processes find it.
final class Listener: RunLoop.PortFollower, EventService, @unchecked Sendable {
  private let mailbox: Mailbox
  private let terms: PortTerms
  private let claim: NameClaim

  init(_ name: String, of mailbox: Mailbox, _ terms: PortTerms) throws(RunLoopError) {
    self.mailbox = mailbox
    self.terms = terms
    claim = try NameClaim(name)
    terms.claim = claim
    try super.init(claim.owned, kind: .connection, order: 0, onlyHost: nil)
  }

  override var followed: [Mailbox] { mailbox.isValid ? [mailbox] : [] }

  /// The name is free again when this returns, unless a connection is taken at this moment on another thread.
  override func hasLost(_ mailbox: Mailbox) { invalidate() }

  var summary: String { "<listener for port \(claim.name), \(isValid ? "valid" : "invalid")>" }

  /// Takes one connection: who it is comes first.
  func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
    let accepted = rlc_message_socket_accept(descriptor)
    if accepted >= 0 { welcome(accepted) } else if accepted != -EAGAIN { claim.refuseOne(terms) }
    return false
  }

  private func welcome(_ descriptor: Int32) {
    var credentials = rlc_credentials()
    guard rlc_message_socket_peer(descriptor, &credentials) >= 0 else { return _ = close(descriptor) }
    let peer = RunLoop.Message.Sender(credentials)
    guard terms.policy.welcomes(peer) else {
      return turnAway(descriptor, peer, "not allowed for user \(peer.userID)")
    }
    let account = terms.accounts.account(of: peer)
    let seat: PeerAccount.Charge
    do { seat = try account.charge(1, .connection) } catch { return turnAway(descriptor, peer, error.reason) }
    guard
      let channel = try? Channel(
        descriptor, terms: terms, isInitiator: false, peer: peer, account: account, seat: seat)
    else { return }
    channel.export(first: .port(mailbox))
    if !channel.settle(at: mailbox) { channel.refuse("no descriptors are left here") }
  }

  private func turnAway(_ descriptor: Int32, _ peer: RunLoop.Message.Sender, _ why: String) {
    terms.refused(RunLoop.Refusal(peer: peer, reason: why))
    Channel.turnAway(descriptor, why)
  }
}

/// The lock, the socket and the number of a name. Once in a process: locks of fcntl(2) are the process's.
final class NameClaim: Sendable {
  private static let lock = Lock()
  nonisolated(unsafe) private static var taken: [String: UInt32] = [:]

  let name: String
  /// The listener's: when it is closed the name is free.
  let owned: OwnedDescriptor
  private let claim: rlc_port_name
  private let spare = SpareDescriptor()

  init(_ name: String) throws(RunLoopError) {
    guard rlc_port_name_is_valid(name) else { throw .badName(PortWords.quoted(name)) }
    self.name = name
    try NameClaim.enter(name)
    var claim = rlc_port_name()
    do throws(RunLoopError) {
      let folder = try PortFolder.open()
      let status = rlc_port_name_claim(folder, name, &claim)
      if status < 0 {
        RunLoopLibc.close(folder)
        throw status == -EADDRINUSE
          ? .nameTaken(PortWords.quoted(name)) : .system(-status, call: "bind", PortWords.port(name))
      }
    } catch {
      NameClaim.leave(name)
      throw error
    }
    self.claim = claim
    owned = OwnedDescriptor(claim.listener) { [claim, spare] in
      let folder = claim.folder
      var released = claim
      rlc_port_name_release(&released)
      RunLoopLibc.close(folder)
      spare.close()
      NameClaim.leave(name)
    }
  }

  /// A fork's child may own the same name, if the parent gives it up.
  private static func enter(_ name: String) throws(RunLoopError) {
    let generation = Kernel.forkGeneration
    let isFree = lock.withLock {
      guard taken[name] != generation else { return false }
      taken[name] = generation
      return true
    }
    if !isFree { throw .nameTaken(PortWords.quoted(name)) }
  }

  private static func leave(_ name: String) { lock.withLock { taken[name] = nil } }

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
    return watch == -ESTALE ? nil : try RunLoopError.check(watch, "inotify_init1")
  }

  /// This process has no number left for a connection: one that was kept for that is used to tell it so. Else it would
  /// stay in front, and the loop would never sleep.
  func refuseOne(_ terms: PortTerms) {
    let isTold = spare.lend {
      let accepted = rlc_message_socket_accept(owned.fileDescriptor)
      if accepted >= 0 {
        Channel.turnAway(accepted, NameClaim.noDescriptors)
      }
      return accepted >= 0
    }
    if isTold { terms.refused(RunLoop.Refusal(peer: nil, reason: NameClaim.noDescriptors)) }
  }

  private static let noDescriptors = "no descriptors are left here"
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
