/// What keeps a call from being carried out. Nothing is half done when one is thrown.
/// - Thread: Any: a value.
public enum RunLoopError: Error, Hashable, Sendable, CustomStringConvertible {
  /// `call` belongs to the loop's own thread, and was made on another one.
  case wrongThread(call: String)
  /// The loop's thread has ended.
  case loopEnded
  /// The loop was inherited through fork(2); it belongs to the parent process.
  case forked
  /// The item was invalidated.
  case invalidItem
  /// The item was made for another loop (`assumeOnLoop`).
  case itemInOtherLoop
  /// `call` needs one mode to run in, and was given `.common`, which stands for several.
  case commonModeNotRunnable(call: String)
  /// A call that needs `prepareToWait` or a run to be over was made inside one.
  case busy(call: String)
  /// `call` was made by a signal handler.
  case inSignalHandler(call: String)
  /// `call` would wait for something that the calling thread itself must do.
  case wouldDeadlock(call: String)
  /// What was waited for did not happen in time.
  case timedOut
  /// The thread has not been started.
  case notStarted
  /// The thread was started before; it is started once.
  case alreadyStarted
  /// The port that was sent to is gone (invalidated, let go of, or the last loop that served it has ended), or the answer is
  /// not awaited any more.
  case portInvalid
  /// As many messages wait in the port as may.
  case portFull
  /// The right to answer was dropped without an answer.
  case noReply
  /// The message is larger than the receiver, or the system, takes.
  case messageTooLarge
  /// More than `Message.maximumDescriptors`; between processes with what takes their places: a payload of more than 64 KiB,
  /// rights to third processes' ports.
  case tooManyDescriptors
  /// The port's name belongs to another port.
  case nameTaken
  /// No port has the name.
  case noSuchPort
  /// No name for a port: 1 to 64 of letters, digits, `.`, `_` and `-`, not beginning with a dot, not ending in `.lock`.
  case badName
  /// The other process does not deal with this one.
  case refused(reason: String)
  /// The system refused: `EMFILE`, `ENFILE`, `ENOMEM`, `ENOSPC`, `EBADF`, `EPERM`... Equal if call and number are; the
  /// description says what it was about.
  case systemCall(name: Call, errno: Int32)

  /// What went wrong and, for a mistake of the caller, what to do instead.
  public var description: String {
    switch self {
    case .wrongThread(let call): "\(call): call this on the run loop's own thread, or post it with perform(in:block:)"
    case .loopEnded:
      "the run loop's thread has ended; the main thread ends when an async main first suspends, so run its loop in a synchronous one"
    case .forked: "the run loop belongs to the parent process; RunLoop.current makes one for this process"
    case .invalidItem: "the item has been invalidated"
    case .itemInOtherLoop: "the item was made for another run loop"
    case .commonModeNotRunnable(let call):
      "\(call): .common stands for the common modes and is none to run in; name one of them"
    case .busy(let call): "\(call): not while the loop runs or is prepared"
    case .inSignalHandler(let call): "\(call): not from a signal handler; have a signal source call it"
    case .wouldDeadlock(let call): "\(call): the calling thread would wait for itself"
    case .timedOut: "out of time"
    case .notStarted: "the thread has not been started"
    case .alreadyStarted: "the thread was started before; make another one"
    case .portInvalid: "the port is gone, or the last loop that served it has ended"
    case .portFull: "the port is full"
    case .noReply: "the message was dropped without an answer"
    case .messageTooLarge: "the message is too large"
    case .tooManyDescriptors:
      "too many descriptors: a message has room for \(Limits.maximumDescriptors); between processes a payload of "
        + "more than 64 KiB takes one of these places, and so does each right to a third process's port"
    case .nameTaken: "another port has this name"
    case .noSuchPort: "no port has this name"
    case .badName: "a port's name is 1 to 64 of A-Z a-z 0-9 . _ -, does not begin with a dot and does not end in .lock"
    case .refused(let reason): "refused: \(reason)"
    case .systemCall(let call, let errno): call.text(errno)
    }
  }
}
