internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// One connection to another process, or to another part of this one: what rights to the other side's ports send
/// through, and where messages to this side's ports come in. See docs/decisions/0013-ports-between-processes.md.
///
/// It exists as long as one side has a right to a port of the other. While it is open it must be read, because
/// otherwise this process would never see the end of the peer. The loops of the ports that the peer has a right to read
/// it, and those of the port that it was made for (`origin`); when that is gone too, the I/O thread. A connection that
/// this process has opened is read only while something can arrive on it, or a call waits for its end.
///
/// `sending` is held while a frame is made and sent, but not while room is waited for; `receiving` while one is taken
/// from the socket and put where it belongs; neither in user code. `receiving` may be held around `sending` and
/// mailboxes' locks, and all of them around `importing`.
final class Channel: RunLoop.PeerWatch, RoomWaiter, @unchecked Sendable {
  /// Its descriptor, which is held while it is used.
  let socket: OwnedDescriptor
  let terms: PortTerms
  /// Has opened it, or has been given it by an introduction.
  let isInitiator: Bool
  /// The other end came from a third process, or may go to one.
  let isIntroduced: Bool
  /// Who was at the other end when it was made.
  let peer: RunLoop.Message.Sender?

  let sending = Lock()
  /// Guarded by `sending`.
  @exclusivity(unchecked) var exports = Exports()
  /// Frames for which there was no room: they go before the next one.
  @exclusivity(unchecked) var unsentFrames: [Frame] = []
  @exclusivity(unchecked) private var unreadFiles = UnreadFiles()
  /// The port with a name by which the connection came to be, whose loops read it; nil: it is gone, or there was none.
  @exclusivity(unchecked) private(set) var origin: Mailbox?
  @exclusivity(unchecked) private var hadOrigin = false
  @exclusivity(unchecked) private var madeLine: SendLine?
  /// The I/O thread reads it for the answers that tasks wait for, and for those that come to wait.
  @exclusivity(unchecked) private(set) var isReadForTasks = false

  let receiving = Lock()
  /// Guarded by `receiving`, like all below. Has come for a port that is full: nothing more is read until that has
  /// room.
  @exclusivity(unchecked) var stalled: (mailbox: Mailbox, message: RunLoop.Message, charge: PeerAccount.Charge?)?
  /// By how much its last packets have cost more than a turn: it skips turns until that is made up for.
  @exclusivity(unchecked) var debt = 0
  /// The account that is charged for what the peer sends: its own, or, until the policy has judged it, that of the peer
  /// that has introduced it.
  @exclusivity(unchecked) var account: PeerAccount
  /// Among the connections, or the introductions, of the account.
  @exclusivity(unchecked) var slot: PeerAccount.Charge?
  /// A packet is being judged outside of the lock.
  @exclusivity(unchecked) var isBusy = false
  /// References to release when the lock is not held.
  @exclusivity(unchecked) var releasedLater: Any?
  /// Refusals to report when the lock is not held.
  @exclusivity(unchecked) var refusalsToReport: [(reason: String, what: PortTerms.Refused)] = []
  /// Connections that have come with a message: they find their modes when the lock is not held.
  @exclusivity(unchecked) var newcomers: [Channel] = []
  /// The sender that the policy has judged last. Each packet names its sender: another process may have inherited the
  /// connection.
  @exclusivity(unchecked) var welcomed: RunLoop.Message.Sender?

  let importing = Lock()
  /// Guarded by `importing`.
  @exclusivity(unchecked) var imports: Imports
  /// For the rights among them beyond the first some.
  @exclusivity(unchecked) var rightCharges: [PeerAccount.Charge] = []
  var isWatched = false
  private var reason: RunLoopError?

  private let over = Atomic<Bool>(false)
  private let broken = Atomic<Bool>(false)

  /// - Parameter fileDescriptor: The connection's from now on, also if this fails.
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
    if isIntroduced {  // PacketBuffer lists it too, but cannot report a failure
      try RunLoopError.checkCore(Unshared.section { Unshared.add(fileDescriptor) })
    }
    try super.init(socket, kind: .connection, order: 0, onlyHost: nil)
  }

  /// The connection does not exist any more.
  var isOver: Bool { over.load(ordering: .acquiring) }
  /// Nothing can be sent any more; there may still be something to read.
  var isBroken: Bool { broken.load(ordering: .acquiring) }

  /// What a send throws once it is broken.
  var failure: RunLoopError {
    if isForked { return .forked }
    return importing.withLock { reason } ?? .portInvalid
  }

  /// Who was judged last; nil on an introduced connection whose other end has not been.
  var knownPeer: RunLoop.Message.Sender? { receiving.withLock { welcomed } }

  var words: String { peer.map { "process \($0.processID)" } ?? "another process" }

  var summary: String { "<connection to \(words), \(isValid ? "valid" : "invalid")>" }

  // MARK: Where it is served

  override var servedPorts: [Mailbox] { sending.withLock { exports.mailboxes + (origin.map { [$0] } ?? []) } }

  /// From now on the port's loops read it, whatever the peer has a right to. With no lock held. The error if one of
  /// them has refused.
  @discardableResult
  func settle(at origin: Mailbox?) -> (any Error)? {
    if let origin {
      sending.withLock { (self.origin, hadOrigin) = (origin, true) }
      _ = origin.connect(self)
      if isOver { origin.disconnect(self) }
    }
    let refusal = followPorts()
    if let origin, !origin.isOpen { hasLost(origin) }  // it ended before it could notify this connection
    return refusal
  }

  /// From now on the end of the peer is noticed though no loop serves a port that it may send to.
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
    // What a task waits for, the program's loops may not come to read.
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

  /// Made for this port: the peer has a right to it. Before anything is received.
  func export(first target: Exports.Target) {
    sending.withLock { exports.insertFirst(target) }
    _ = target.mailbox.connect(self)
  }

  // By methods of its own: for ThreadSanitizer a change through another's reference is one of the whole object. Under
  // `sending`.
  func export(_ answer: ReplyRight) -> UInt64 { exports.add(answer) }
  func export(_ mailbox: Mailbox, _ destination: any Destination) -> (number: UInt64, isNew: Bool) {
    exports.add(mailbox, destination)
  }
  func takeBackExport(_ number: UInt64) -> Exports.Target? { exports.drop(number, 1) }

  override func hasLost(_ mailbox: Mailbox) {
    guard !isForked else { return }
    // A message with a right to it cannot overtake the news: both are sent under the lock.
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

  /// Of tasks; made with the first that sends.
  var line: SendLine {
    sending.withLock {
      let line = madeLine ?? SendLine()
      madeLine = line
      return line
    }
  }

  // MARK: Files made for the peer

  /// Waits until the peer has taken so much of what was made for it before that there may be so many bytes more.
  func reserveFile(_ size: Int, _ timeout: SendTimeout) throws(RunLoopError) {
    // Under virtual time the reader may wait for the turn of this thread.
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

  /// From the deinit of a right: its last reference is gone.
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

  /// Neither side has a right any more: nothing can come or go.
  func closeIfUnused() {
    guard !isOver, sending.withLock({ exports.isEmpty }) else { return }
    // No message can bring these rights any more: keeping them would keep both ends open.
    let idle = importing.withLock { imports.keeps ? imports.keepNone() : [] }
    guard idle.isEmpty else { return }  // the last of them that goes looks again
    guard importing.withLock({ imports.isEmpty }) else { return }
    let isUnused = sending.withLock { exports.isEmpty && unsentFrames.isEmpty }
    if isUnused { endConnection(nil) }
  }

  /// Nothing can be sent any more: rights to the peer's ports are invalid.
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

  /// Ends the connection; requests that wait for answers of the peer throw. Call it with no lock held; once.
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

  /// Shuts the socket down, which wakes senders that wait for room: they would wait until the peer closes its end.
  private func endSocket() {
    guard socket.hold() else { return }
    if !isForked { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }  // ENOTCONN: the peer was quicker
    socket.release()
  }

  /// Sends the reason on a descriptor that no channel owns yet, and closes it. If there is no room for the reason, the
  /// peer sees the end only.
  static func turnAway(_ descriptor: Int32, _ why: String) {
    _ = Frame.goodbye(why).withParts { rlc_message_socket_send(descriptor, $0.baseAddress, $0.count, nil, 0) }
    Unshared.close(descriptor)
  }

  /// The peer has violated the protocol: sends it the reason, and ends the connection.
  func refuse(_ why: String, sentBy sender: RunLoop.Message.Sender? = nil) {
    terms.refused(RunLoop.Refusal(peer: sender ?? knownPeer, reason: why))
    sending.withLock { _ = transmit(.goodbye(why)) }  // without room for it the end alone tells
    endConnection(.refused(reason: why))
  }
}
