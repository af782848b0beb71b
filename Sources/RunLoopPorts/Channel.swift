internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// One connection to another process, or to another part of this one. Rights to the peer's ports send through it, and
/// it receives messages for this side's ports. See docs/decisions/0013-ports-between-processes.md.
///
/// It exists as long as one side has a right to a port of the other. An open connection must be read: otherwise this
/// process would never notice the peer's end. The loops of the ports to which the peer has a right read it, and so do
/// the loops of the port that it was made for (`origin`). When the origin has ended and the peer has no right left, the
/// I/O thread reads it. Only a connection that this process has opened may stay unread, while nothing can arrive on it
/// and the program does not observe its end.
///
/// `sending` is held while the rights of a frame get numbers and the frame is sent, but not while a thread waits for
/// room. `receiving` is held while a packet is read and its message is queued. Neither is held while user code runs.
/// The order of the locks: `receiving`, `sending`, a mailbox's, `importing`.
final class Channel: RunLoop.PeerWatch, RoomWaiter, @unchecked Sendable {
  /// Owns the descriptor, which callers hold while they use it.
  let socket: OwnedDescriptor
  let terms: PortTerms
  /// True if this process has opened the connection, or has the receiver's end of an introduction.
  let isInitiator: Bool
  let isIntroduced: Bool
  /// The process at the other end when the connection was created; nil if it is not known yet.
  let peer: RunLoop.Message.Sender?

  let sending = Lock()
  /// Guarded by `sending`. Unchecked, like three others here: each check costs 90 instructions of `port_xrtt`'s 7,600.
  @exclusivity(unchecked) var exports = Exports()
  /// Frames that found no room. They are sent before the next frame.
  @exclusivity(unchecked) var unsentFrames: [Frame] = []
  private var unreadFiles = UnreadFiles()
  /// The port that the connection was made for, whose loops read it; nil if there was none, or it has ended.
  private(set) var origin: Mailbox?
  private var hadOrigin = false
  private var madeLine: SendLine?
  /// True while the I/O thread is to read the connection because tasks await answers on it.
  private(set) var isReadForTasks = false

  let receiving = Lock()
  /// A message for a full port: nothing more is read until the port has room. Guarded by `receiving`, like all below.
  var stalled: (mailbox: Mailbox, message: RunLoop.Message, charge: PeerAccount.Charge?)?
  /// By how much the last packet has exceeded the budget of a turn. Each turn that the connection skips subtracts one
  /// budget.
  var debt = 0
  /// The account that is charged for what the peer sends. Until the policy has judged an introduced peer, this is the
  /// account of the peer that has introduced it.
  var account: PeerAccount
  /// The charge for this connection, which the account counts as a connection or an introduction.
  var slot: PeerAccount.Charge?
  /// True while the policy judges the sender of a packet, without the lock. No thread reads another packet meanwhile.
  var isBusy = false
  /// References to release after unlocking.
  @exclusivity(unchecked) var releasedLater: Any?
  /// Refusals to report after unlocking.
  var refusalsToReport: [(reason: String, what: PortTerms.Refused)] = []
  /// Connections that came with a message. They enter their modes after unlocking.
  @exclusivity(unchecked) var newcomers: [Channel] = []
  /// The sender that the policy has accepted last. Another process may have inherited the connection, so each packet's
  /// sender, which the kernel names, is compared with this one.
  var welcomed: RunLoop.Message.Sender?

  let importing = Lock()
  /// Guarded by `importing`.
  var imports: Imports
  /// The charges for imported rights beyond the first 64.
  var rightCharges: [PeerAccount.Charge] = []
  var isWatched = false
  private var reason: RunLoopError?

  private let over = Atomic<Bool>(false)
  private let broken = Atomic<Bool>(false)

  /// - Parameter fileDescriptor: The connection takes it over, even if this throws.
  init(
    _ fileDescriptor: Int32, terms: PortTerms, isInitiator: Bool, isIntroduced: Bool = false,
    peer: RunLoop.Message.Sender?, account: PeerAccount, slot: PeerAccount.Charge?
  ) throws(RunLoopError) {
    self.terms = terms
    self.isInitiator = isInitiator
    self.isIntroduced = isIntroduced
    self.peer = peer
    self.account = account
    self.slot = slot
    welcomed = peer
    imports = Imports(keeps: !isInitiator)
    socket = OwnedDescriptor(fileDescriptor)
    if isIntroduced {  // `PacketBuffer` may have failed to list the descriptor, and cannot report that
      try RunLoopError.checkCore(Unshared.section { Unshared.add(fileDescriptor) })
    }
    try super.init(socket, kind: .connection, order: 0, onlyLoop: nil)
  }

  var isOver: Bool { over.load(ordering: .acquiring) }
  /// True once nothing can be sent any more. There may still be packets to read.
  var isBroken: Bool { broken.load(ordering: .acquiring) }

  /// What a send throws once the connection is broken.
  var failure: RunLoopError {
    if isForked { return .forked }
    return importing.withLock { reason } ?? .portInvalid
  }

  /// The sender that the policy has accepted last; nil on an introduced connection before the first packet.
  var knownPeer: RunLoop.Message.Sender? { receiving.withLock { welcomed } }

  var words: String { peer.map { "process \($0.processID)" } ?? "another process" }

  var summary: String { "<connection to \(words), \(isValid ? "valid" : "invalid")>" }

  // MARK: The modes that read it

  override var servedPorts: [Mailbox] { sending.withLock { exports.mailboxes + (origin.map { [$0] } ?? []) } }

  /// Makes the loops of `origin` read the connection, even if the peer has no right to that port. Returns the error if
  /// a mode has refused the connection. Call it with no lock held.
  @discardableResult
  func settle(at origin: Mailbox?) -> (any Error)? {
    if let origin {
      sending.withLock { (self.origin, hadOrigin) = (origin, true) }
      _ = origin.connect(self)
      if isOver { origin.disconnect(self) }
    }
    let refusal = followPorts()
    if let origin, !origin.isOpen { hasLost(origin) }  // the port ended before it could notify this connection
    return refusal
  }

  /// Makes the I/O thread read the connection while no loop does, so that this process notices the peer's end.
  func watch() {
    importing.withLock { isWatched = true }
    followPorts()
  }

  override func hasChangedPlaces(isServed: Bool) -> (any Error)? {
    guard !isInvalidated else { return IOThread.serve(self, false) }
    let (isOrphan, isAwaited) = sending.withLock {
      isReadForTasks = exports.isAwaitedByTask
      return ((hadOrigin || !isInitiator) && origin == nil && exports.isEmpty, isReadForTasks)
    }
    // The program's loops may never run a mode that has the connection, so the I/O thread also reads it while a task
    // awaits an answer.
    return IOThread.serve(self, isAwaited || !isServed && (isOrphan || importing.withLock { isWatched }))
  }

  override func isUnwatched(_ why: any Error) {
    let answers = sending.withLock {
      isReadForTasks = false
      return exports.answersOfTasks
    }
    for answer in answers { answer.pending.settle(.failure(why)) }
  }

  // MARK: Exports

  /// Exports the target as number 0, to which the peer has a right from the beginning. Call it before anything is
  /// received.
  func export(first target: Exports.Target) {
    sending.withLock { exports.insertFirst(target) }
    _ = target.mailbox.connect(self)
  }

  // These are methods because ThreadSanitizer takes a mutating call from outside for a change of the whole object. Call
  // them under `sending`.
  func export(_ answer: ReplyRight) -> UInt64 { exports.add(answer) }
  func export(_ mailbox: Mailbox, _ destination: any Destination) -> (number: UInt64, isNew: Bool) {
    exports.add(mailbox, destination)
  }
  func takeBackExport(_ number: UInt64) -> Exports.Target? { exports.drop(number, 1) }

  override func hasLost(_ mailbox: Mailbox) {
    guard !isForked else { return }
    // Under the lock, so that no message with a right to the port is sent after the frame that reports its end.
    let gone = sending.withLock {
      let gone = exports.removeAll(of: mailbox)
      if origin === mailbox { origin = nil }
      if !gone.isEmpty { sendOrQueue(.dead(gone.map(\.number))) }
      return gone
    }
    withExtendedLifetime(gone) {}
    updateInterest()
    followPorts()
    closeIfUnused()
  }

  /// The line of messages that tasks send; created when it is first used.
  var line: SendLine {
    sending.withLock {
      let line = madeLine ?? SendLine()
      madeLine = line
      return line
    }
  }

  // MARK: Files made for the peer

  /// Reserves the bytes of a new memory file for the peer. Waits while too many bytes of earlier files are unread.
  func reserveFile(_ size: Int, _ timeout: SendTimeout) throws(RunLoopError) {
    // No limit under virtual time: the reader may run only when this thread sleeps.
    let limit = Kernel.current?.turns == nil ? terms.policy.unreadBytes : Int.max
    while true {
      let isReserved = sending.withLock { unreadFiles.reserve(size, limit: limit, descriptor) }
      if isReserved { return }
      try waitForReader(timeout)
      if isBroken { throw failure }
    }
  }

  func settleFile(_ size: Int, isSent: Bool) { sending.withLock { unreadFiles.settle(size, isSent: isSent) } }

  // MARK: Rights to the peer's ports

  /// Called by the deinit of a right.
  func rightHasGone(_ number: UInt64, _ count: UInt32, _ identity: ObjectIdentifier) {
    guard !isForked, !isOver else { return }
    let isLast = importing.withLock {
      imports.removePort(number, identity)
      giveBackRights()
      return isInitiator && imports.isEmpty
    }
    sendControl(.drop([(number, count)], isQuiet: isLast))
    closeIfUnused()
  }

  func answerHasMoved(_ number: UInt64) { importing.withLock { imports.removeAnswer(number) } }

  func answerHasGone(_ number: UInt64) {
    guard !isForked, !isOver else { return }
    let isLast = importing.withLock {
      imports.removeAnswer(number)
      giveBackRights()
      return isInitiator && imports.isEmpty
    }
    if isLast { sendControl(.drop([], isQuiet: true)) }
    closeIfUnused()
  }

  func answerWasDropped(_ number: UInt64) {
    guard !isForked, !isOver else { return }
    sendControl(.drop([(number: number, count: UInt32(1))], isQuiet: false))
    answerHasGone(number)
  }

  // MARK: The end

  /// Ends the connection if neither side has a right to a port of the other.
  func closeIfUnused() {
    guard !isOver, sending.withLock({ exports.isEmpty }) else { return }
    // The peer has no right left, so it cannot send a kept right again. Kept rights would only keep the connection
    // open.
    let idle = importing.withLock { imports.keeps ? imports.keepNone() : [] }
    guard idle.isEmpty else { return }  // the deinit of the last of them calls this again
    guard importing.withLock({ imports.isEmpty }) else { return }
    let isUnused = sending.withLock { exports.isEmpty && unsentFrames.isEmpty }
    if isUnused { endConnection(nil) }
  }

  /// Marks the connection as broken: nothing can be sent, and rights to the peer's ports become invalid.
  func breakOff(_ why: RunLoopError?) {
    let (ports, answers) = importing.withLock {
      if reason == nil { reason = why }
      broken.store(true, ordering: .releasing)
      rightCharges = []
      return imports.removeAll()
    }
    for port in ports { port.forget() }
    for port in ports { port.invalidation.invalidate() }
    for answer in answers { answer.channelHasEnded() }
  }

  /// Ends the connection. Requests that await answers of the peer throw. Call it with no lock held; only the first call
  /// has an effect.
  func endConnection(_ why: RunLoopError?) {
    guard !over.exchange(true, ordering: .acquiringAndReleasing) else { return }
    breakOff(why)
    let (targets, origin) = sending.withLock {
      unsentFrames = []
      return (exports.removeAll(), self.origin.take())
    }
    origin?.disconnect(self)
    for target in targets {
      if case .answer(let right) = target { right.pending.settle(.failure(failure)) }
      target.mailbox.disconnect(self)
    }
    endSocket()
    invalidate()
    _ = IOThread.serve(self, false)
    receiving.withLock { slot = nil }
  }

  /// Shuts the socket down. This wakes senders that wait for room; otherwise they would wait until the peer closes it.
  private func endSocket() {
    guard socket.hold() else { return }
    if !isForked { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }  // fails with ENOTCONN if the peer was quicker
    socket.release()
  }

  /// Sends the reason on a descriptor that no channel owns yet, and closes the descriptor. Without room for the reason,
  /// the peer notices only the end.
  static func turnAway(_ descriptor: Int32, _ why: String) {
    _ = Frame.goodbye(why).withParts { rlc_message_socket_send(descriptor, $0.baseAddress, $0.count, nil, 0) }
    Unshared.close(descriptor)
  }

  /// Called when the peer has violated the protocol. Sends the peer the reason, and ends the connection.
  func refuse(_ why: String, sentBy sender: RunLoop.Message.Sender? = nil) {
    terms.refused(RunLoop.Refusal(peer: sender ?? knownPeer, reason: why))
    sending.withLock { _ = transmit(.goodbye(why)) }  // without room, the peer notices only the end
    endConnection(.refused(reason: why))
  }
}
