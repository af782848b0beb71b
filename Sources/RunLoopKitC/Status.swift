internal import RunLoopKit
internal import RunLoopLibc
internal import RunLoopPorts

/// What functions return: a value that is not negative, or a negated errno number. Each constant of `RunLoopError` in
/// RunLoopKit and RunLoopPorts has its number here [RLK-C-26].
package enum Status {
  static let invalid = -EINVAL
  static let overflow = -EOVERFLOW
  static let ended = -ESHUTDOWN
  static let gone = -ENOENT
  static let forked = -ECHILD

  /// The errors of the module's own domain, by their code.
  private static let ofCode: [Int32: Int32] = [
    RunLoopError.wrongThread.code: -EPERM,
    RunLoopError.loopEnded.code: -ESHUTDOWN,
    RunLoopError.forked.code: -ECHILD,
    RunLoopError.invalidItem.code: -ENOENT,
    RunLoopError.itemInOtherLoop.code: -EXDEV,
    RunLoopError.commonModeNotRunnable.code: -EINVAL,
    RunLoopError.busy.code: -EBUSY,
    RunLoopError.hostedElsewhere.code: -EALREADY,
    RunLoopError.inSignalHandler.code: -ENOTSUP,
    RunLoopError.wouldDeadlock.code: -EDEADLK,
    RunLoopError.timedOut.code: -ETIMEDOUT,
    RunLoopError.notStarted.code: -ESRCH,
    RunLoopError.alreadyStarted.code: -EALREADY,
    RunLoopError.portInvalid.code: -EPIPE,
    RunLoopError.portFull.code: -EAGAIN,
    RunLoopError.noReply.code: -ECANCELED,
    RunLoopError.messageTooLarge.code: -EMSGSIZE,
    RunLoopError.tooManyDescriptors.code: -ETOOMANYREFS,
  ]

  /// Those of named ports, likewise.
  private static let ofPortCode: [Int32: Int32] = [
    RunLoopError.nameTaken.code: -EADDRINUSE,
    RunLoopError.noSuchPort.code: -ENOENT,
    RunLoopError.badName.code: -EINVAL,
    RunLoopError.refused.code: -EACCES,
  ]

  /// Never 0: an error that has no number here is -EIO.
  package static func of(_ error: any Error) -> Int32 {
    guard let error = error as? RunLoopError else { return -EIO }
    if let errno = error.errno { return errno > 0 ? -errno : -EIO }
    switch error.domain {
    case .runLoop: return ofCode[error.code] ?? -EIO
    case .ports: return ofPortCode[error.code] ?? -EIO
    default: return -EIO
    }
  }

  /// What the body returns, or its error.
  @inline(__always)
  static func of(_ body: () throws -> Int32) -> Int32 {
    do { return try body() } catch { return of(error) }
  }
}

extension Bool {
  /// As C has it.
  var inC: Int32 { self ? 1 : 0 }
}

extension Duration {
  /// The largest number of nanoseconds is longer than any time.
  init(inC nanoseconds: UInt64) { self = .nanoseconds(nanoseconds) }
}

/// A time limit; nil: none.
func limit(_ nanoseconds: UInt64) -> Duration? { nanoseconds == .max ? nil : Duration(inC: nanoseconds) }
