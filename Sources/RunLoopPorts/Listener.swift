internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// Accepts connections to a named port.
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
    try super.init(claim.owned, kind: .connection, order: 0, onlyLoop: nil)
  }

  override var servedPorts: [Mailbox] { mailbox.isValid ? [mailbox] : [] }

  /// Releases the name. The name is free when this returns, unless another thread accepts a connection at this moment.
  override func hasLost(_ mailbox: Mailbox) { invalidate() }

  var summary: String { "<listener for port \(claim.name), \(isValid ? "valid" : "invalid")>" }

  /// Accepts one connection.
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

  /// Makes the listener edge-triggered, or level-triggered again. A connection that can be neither accepted nor refused
  /// stays in the socket's queue, and a level-triggered listener would report it in each pass. An edge-triggered one
  /// reports it with the next connection, and when its interest is registered again.
  private func pause(_ pauses: Bool) {
    guard isPaused.exchange(pauses, ordering: .relaxed) != pauses else { return }
    let readable = PortRegistration.readable
    _ = exchangeInterest(pauses ? readable | UInt32(PortRegistration.edge) : readable)
    for loop in loops { renew(in: loop) }
  }

  /// Registers the interest again. If the kernel refuses, the listener tries again after a pause.
  private func renew(in loop: RunLoop) {
    do { try renewInterest(in: loop) } catch {
      isPaused.store(true, ordering: .relaxed)
      tryLater(in: loop)
    }
  }

  private static let pauseTime = Duration.milliseconds(100)

  /// Tries again after a pause. Without a descriptor for the timer, only the next connection makes the listener try
  /// again.
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
    if isPaused.load(ordering: .relaxed), isValid { renew(in: loop) }
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
