internal import RunLoopKit
internal import RunLoopLibc
internal import RunLoopPorts

/// The results of C functions: a value that is not negative, or a negated errno number. Each constant of `RunLoopError`
/// in RunLoopKit and RunLoopPorts has its number here [RLK-C-26].
package enum Status {
  static let invalid = -EINVAL
  static let overflow = -EOVERFLOW
  static let ended = -ESHUTDOWN
  static let gone = -ENOENT
  static let forked = -ECHILD

  /// The numbers of the errors in RunLoopKit's own domain, by code.
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

  /// The numbers of the errors of named ports, by code.
  private static let ofPortCode: [Int32: Int32] = [
    RunLoopError.nameTaken.code: -EADDRINUSE,
    RunLoopError.noSuchPort.code: -ENOENT,
    RunLoopError.badName.code: -EINVAL,
    RunLoopError.refused.code: -EACCES,
  ]

  /// Returns the number of an error, never 0: -EIO if the error has no number here.
  package static func of(_ error: any Error) -> Int32 {
    guard let error = error as? RunLoopError else { return -EIO }
    if let errno = error.errno { return errno > 0 ? -errno : -EIO }
    switch error.domain {
    case .runLoop: return ofCode[error.code] ?? -EIO
    case .ports: return ofPortCode[error.code] ?? -EIO
    default: return -EIO
    }
  }

  /// Returns what the body returns, or the number of its error.
  static func of(_ body: () throws -> Int32) -> Int32 {
    do { return try body() } catch { return of(error) }
  }
}

extension Bool {
  /// 1 for true and 0 for false, as the C functions return them.
  var inC: Int32 { self ? 1 : 0 }
}

extension Duration {
  /// Converts nanoseconds from C. `UInt64.max`, which means no limit, is longer than any real time.
  init(inC nanoseconds: UInt64) { self = .nanoseconds(nanoseconds) }
}

/// Converts a time limit from C; nil stands for no limit.
func limit(_ nanoseconds: UInt64) -> Duration? { nanoseconds == .max ? nil : Duration(inC: nanoseconds) }
