internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

extension RunLoop.Port {
  /// False once a process has removed or replaced the name's socket, so that new clients do not find this port. Also
  /// false while the path of the folder of names leads elsewhere, because the folder or one around it was renamed or
  /// mounted over [RLK-WIRE-30]. Existing connections continue. False for an invalid port, and for one without a name.
  /// - Thread: Any. - Complexity: Three system calls.
  public var ownsName: Bool { !isForked && terms?.claim?.isOwned ?? false }

  /// Calls `body` once when the port has lost its name. If it already has, this function calls `body` itself.
  ///
  /// The port notices each change that makes `ownsName` false [RLK-WIRE-30], with two exceptions: renames of a folder
  /// that this process may not read, and mounts if there is no /proc. It notices these when another change follows.
  ///
  /// To get the name back, invalidate this port and create another one with the name; `body` may do that.
  /// - Parameter body: Called on the thread of a loop that runs a mode with the port in it, with no lock held. The port
  ///   keeps the closure until that call, or until its own end.
  /// - Throws: A `RunLoopError`: `.noSuchPort` for a port without a name; `.invalidItem`; `.forked`; `.system`:
  ///   `EMFILE`, also if the user's inotify instances are used up (each call takes one), `ENOSPC`, `ENOMEM`...
  /// - Thread: Any. - Complexity: Some twenty system calls, and two descriptors.
  public func onNameLoss(_ body: @escaping @Sendable (RunLoop.Port) -> Void) throws {
    guard !isForked else { throw RunLoopError.forked }
    guard isValid else { throw RunLoopError.invalidItem(nameInErrors) }
    guard let claim = terms?.claim else {
      throw RunLoopError.noSuchPort("the port was made without a name; make it with registeredAs:")
    }
    guard let descriptor = try claim.watch() else {
      _ = __RUNLOOPKIT_IS_CALLING_OUT_TO_A_NAME_LOSS_OBSERVER__(body, self)
      return
    }
    let loss = NameLoss(claim, of: mailbox, body)
    let refusal = loss.watch(descriptor)
    guard refusal == nil, isValid else {  // an invalidation meanwhile may not have reached the watches
      loss.end()
      throw refusal ?? RunLoopError.invalidItem(nameInErrors)
    }
    if !claim.isOwned { loss.find(in: self) }  // the name may have been lost before the mounts were watched
  }
}

/// Reports the loss of a name to the program once, whichever watch notices it.
private final class NameLoss: Sendable {
  fileprivate let claim: NameClaim
  private let mailbox: Mailbox
  private let body: @Sendable (RunLoop.Port) -> Void
  private let isReported = Atomic<Bool>(false)

  init(_ claim: NameClaim, of mailbox: Mailbox, _ body: @escaping @Sendable (RunLoop.Port) -> Void) {
    self.claim = claim
    self.mailbox = mailbox
    self.body = body
  }

  /// Watches the descriptor from `claim.watch()`, and the table of mounts if this process may open it. Returns the
  /// error if that fails, or a mode refuses a watch.
  func watch(_ descriptor: Int32) -> (any Error)? {
    do throws(RunLoopError) {
      if let refusal = join(try NameWatch(descriptor, PortRegistration.readable, self, of: mailbox)) { return refusal }
      let opened = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
      if opened < 0, errno == ENOENT || errno == EACCES { return nil }
      let mounts = try RunLoopError.checkDescriptor(opened, "open", "/proc/self/mountinfo")
      return join(try NameWatch(mounts, PortRegistration.priority, self, of: mailbox))
    } catch { return error }
  }

  private func join(_ watch: NameWatch) -> (any Error)? {
    _ = mailbox.connect(watch)
    return watch.followPorts()
  }

  /// Calls the body if the name is lost, unless an earlier call has done so. Returns true if it has called the body.
  @discardableResult
  func find(in port: RunLoop.Port) -> Bool {
    guard !claim.isOwned, !isReported.exchange(true, ordering: .acquiringAndReleasing) else { return false }
    end()
    return __RUNLOOPKIT_IS_CALLING_OUT_TO_A_NAME_LOSS_OBSERVER__(body, port)
  }

  func end() {
    for case let watch as NameWatch in mailbox.connections?.all ?? [] where watch.loss === self {
      mailbox.disconnect(watch)
      watch.invalidate()
    }
  }
}

/// Checks the port's name on events of one descriptor, in the port's modes.
private final class NameWatch: RunLoop.PeerWatch, EventService, @unchecked Sendable {
  let loss: NameLoss
  private let mailbox: Mailbox

  /// - Parameter descriptor: The watch owns it, even if this initializer throws.
  init(
    _ descriptor: Int32, _ interest: UInt32, _ loss: NameLoss, of mailbox: Mailbox
  ) throws(RunLoopError) {
    self.loss = loss
    self.mailbox = mailbox
    try super.init(
      OwnedDescriptor(descriptor), kind: .connection, interest: interest, order: 0, onlyLoop: nil)
  }

  override var servedPorts: [Mailbox] { mailbox.isValid && isValid ? [mailbox] : [] }

  override func hasLost(_ mailbox: Mailbox) { invalidate() }

  var summary: String { "<watch on the name of port \(loss.claim.name), \(isValid ? "valid" : "invalid")>" }

  func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
    guard let port = mailbox.membership(in: mode)?.port else { return false }
    if ready & PortRegistration.readable != 0 { rlc_port_name_drain(descriptor) }
    return loss.find(in: port)
  }
}
