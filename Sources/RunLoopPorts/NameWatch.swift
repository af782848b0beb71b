internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

extension RunLoop.Port {
  /// False once a process has removed or replaced the name's socket, so that new clients do not find this port; also
  /// for a port without a name, and for an invalid port. Existing connections go on.
  /// - Thread: Any. - Complexity: One system call.
  public var ownsName: Bool { terms?.claim?.isOwned ?? false }

  /// Calls `body` once when the port has lost its name: at once, on the calling thread, if it has already.
  ///
  /// To get the name back, invalidate this port and create another one with the name; `body` may do that.
  /// - Parameter body: Called on the thread of a loop that runs a mode with the port in it, with no lock held; kept
  ///   until then, or until the port is gone.
  /// - Throws: A `RunLoopError`: `.noSuchPort` for a port without a name; `.invalidItem`; `.forked`; `.system`:
  ///   `EMFILE`, also if the user's inotify instances are used up (each call takes one), `ENOSPC`, `ENOMEM`...
  /// - Thread: Any. - Complexity: Some five system calls.
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
    let watch = try NameWatch(descriptor, on: claim, of: mailbox, body)
    _ = mailbox.connect(watch)
    let refusal = watch.follow()
    guard refusal == nil, isValid else {  // invalidated meanwhile: the invalidation may not have reached the watch
      mailbox.disconnect(watch)
      watch.invalidate()
      throw refusal ?? RunLoopError.invalidItem(nameInErrors)
    }
  }
}

/// Looks, where its port is served, whether the port's name is its own still.
final class NameWatch: RunLoop.PortFollower, EventService, @unchecked Sendable {
  private let claim: NameClaim
  private let mailbox: Mailbox
  private let body: @Sendable (RunLoop.Port) -> Void
  private let isTold = Atomic<Bool>(false)

  /// - Parameter descriptor: The watch's from now on, also if this fails.
  init(
    _ descriptor: Int32, on claim: NameClaim, of mailbox: Mailbox, _ body: @escaping @Sendable (RunLoop.Port) -> Void
  ) throws(RunLoopError) {
    self.claim = claim
    self.mailbox = mailbox
    self.body = body
    try super.init(OwnedDescriptor(descriptor), kind: .connection, order: 0, onlyHost: nil)
  }

  override var followed: [Mailbox] { mailbox.isValid && isValid ? [mailbox] : [] }

  override func hasLost(_ mailbox: Mailbox) { invalidate() }

  var summary: String { "<watch on the name of port \(claim.name), \(isValid ? "valid" : "invalid")>" }

  func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
    guard let port = mailbox.membership(in: mode)?.port else { return false }
    rlc_port_name_drain(descriptor)
    guard !claim.isOwned, !isTold.exchange(true, ordering: .acquiringAndReleasing) else { return false }
    mailbox.disconnect(self)
    invalidate()
    return __RUNLOOPKIT_IS_CALLING_OUT_TO_A_NAME_LOSS_OBSERVER__(body, port)
  }
}
