internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// A port's name, and the socket under which other processes find it.
final class Listener: RunLoop.PeerWatch, EventService, @unchecked Sendable {
  private let mailbox: Mailbox
  private let terms: PortTerms
  private let claim: NameClaim
  private let isPaused = Atomic<Bool>(false)
  private let triesLater = Atomic<Bool>(false)

  init(_ name: String, of mailbox: Mailbox, _ terms: PortTerms) throws(RunLoopError) {
    self.mailbox = mailbox
    self.terms = terms
    claim = try NameClaim(name)
    terms.claim = claim
    try super.init(claim.owned, kind: .connection, order: 0, onlyHost: nil)
  }

  override var servedPorts: [Mailbox] { mailbox.isValid ? [mailbox] : [] }

  /// The name is free again when this returns, unless a connection is taken at this moment on another thread.
  override func hasLost(_ mailbox: Mailbox) { invalidate() }

  var summary: String { "<listener for port \(claim.name), \(isValid ? "valid" : "invalid")>" }

  /// Takes one connection: who it is comes first.
  func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
    let (accepted, refusal) = Unshared.section { () -> (Int32, Int32) in
      let accepted = rlc_message_socket_accept(descriptor)
      return (accepted, accepted < 0 ? 0 : Unshared.add(accepted))
    }
    if refusal < 0 {
      turnAway(accepted, nil, RunLoopError.system(-refusal, call: RunLoopError.failedCall).description)
    } else if accepted >= 0 {
      welcome(accepted)
      if isPaused.load(ordering: .relaxed) { pause(false) }
    } else if accepted != -EAGAIN, !claim.refuseOne(terms, -accepted) {
      pause(true)
      tryLater(in: loop)
    }
    return false
  }

  // MARK: Pauses

  /// A connection that can be neither taken nor refused stays in front, and would be reported in each pass. So the
  /// listener is edge-triggered until one can be taken: it is reported with the next connection that comes, and each
  /// time that its interest is registered.
  private func pause(_ pauses: Bool) {
    guard isPaused.exchange(pauses, ordering: .relaxed) != pauses else { return }
    let readable = PortRegistration.readable
    _ = exchangeInterest(pauses ? readable | UInt32(PortRegistration.edge) : readable)
    for host in hosts { try? renewInterest(in: host) }  // a refusal is noted there, and it is registered later
  }

  private static let pauseTime = Duration.milliseconds(100)

  /// Without a descriptor for a timer the next connection is what makes it try again.
  private func tryLater(in loop: RunLoop) {
    guard !triesLater.exchange(true, ordering: .relaxed) else { return }
    do {
      _ = try loop.perform(after: Listener.pauseTime, in: loop.currentMode ?? .default) { [weak self, unowned loop] in
        self?.tryAgain(in: loop)
      }
    } catch {
      triesLater.store(false, ordering: .relaxed)
    }
  }

  private func tryAgain(in loop: RunLoop) {
    triesLater.store(false, ordering: .relaxed)
    if isPaused.load(ordering: .relaxed), isValid { try? renewInterest(in: loop) }
  }

  private func welcome(_ descriptor: Int32) {
    var credentials = rlc_credentials()
    let status = rlc_message_socket_peer(descriptor, &credentials)
    guard status >= 0 else {
      return turnAway(descriptor, nil, RunLoopError.system(-status, call: "getsockopt").description)
    }
    let peer = RunLoop.Message.Sender(credentials)
    guard terms.policy.welcomes(peer) else {
      return turnAway(descriptor, peer, "not allowed for user \(peer.userID)")
    }
    let account = terms.accounts.account(of: peer)
    let slot: PeerAccount.Charge
    do { slot = try account.charge(1, .connection) } catch { return turnAway(descriptor, peer, error.reason) }
    guard
      let channel = try? Channel(
        descriptor, terms: terms, isInitiator: false, peer: peer, account: account, slot: slot)
    else { return }
    channel.export(first: .port(mailbox, mailbox))
    if let refusal = channel.settle(at: mailbox) { channel.refuse(NameClaim.reason(refusal)) }
  }

  private func turnAway(_ descriptor: Int32, _ peer: RunLoop.Message.Sender?, _ why: String) {
    terms.refused(RunLoop.Refusal(peer: peer, reason: why))
    Channel.turnAway(descriptor, why)
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
