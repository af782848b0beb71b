extension RunLoopError {
  /// The call belongs to the loop's own thread, and another thread made it.
  public static let wrongThread = wrongThread(call: nil)
  /// The loop's thread has ended.
  public static let loopEnded = RunLoopError(.runLoop, code: 2, "the run loop's thread has ended")
  /// A child of fork(2) has used what it inherited; the parent process owns it.
  public static let forked = RunLoopError(
    .runLoop, code: 3, "the run loop belongs to the parent process; RunLoop.current makes one for this process")
  /// The item has been invalidated.
  public static let invalidItem = invalidItem("the item")
  /// The item was made for another loop (`assumeOnLoop`).
  public static let itemInOtherLoop = itemInOtherLoop("the item")
  /// The call runs one mode, and was given `.common`, which stands for several.
  public static let commonModeNotRunnable = commonModeNotRunnable(call: nil)
  /// An observer has made a call of the host while another call of the host was notifying that observer.
  public static let busy = busy(call: nil)
  /// The call would host a loop in one mode while the loop waits for its host in another one.
  public static let hostedElsewhere = RunLoopError(
    .runLoop, code: 18, "the loop waits for its host in another mode; a host serves one mode at a time")
  /// A signal handler has made a call that only ordinary code may make.
  public static let inSignalHandler = inSignalHandler(call: nil)
  /// The call would wait for something that only the calling thread can do.
  public static let wouldDeadlock = wouldDeadlock(call: nil, "the calling thread would wait for itself")
  /// What the call waited for did not happen within the time limit.
  public static let timedOut = RunLoopError(.runLoop, code: 10, "the time limit has passed")
  /// The thread has not been started.
  public static let notStarted = RunLoopError(.runLoop, code: 11, "the thread has not been started; call start() first")
  /// The thread has been started before. A thread starts once.
  public static let alreadyStarted = RunLoopError(.runLoop, code: 12, "the thread was started before; make another one")
  /// The port is gone (invalidated, released, or the last loop that served it has ended), or the request that a reply
  /// is for has ended.
  public static let portInvalid = RunLoopError(
    .runLoop, code: 13, "the port is gone, or the last loop that served it has ended")
  /// As many messages wait in the port as its queue may hold.
  public static let portFull = RunLoopError(.runLoop, code: 14, "the port is full; send(_:timeout:) waits for room")
  /// The receiver has released the right to reply without replying.
  public static let noReply = RunLoopError(
    .runLoop, code: 15, "the receiver released the right to reply without replying")
  /// The message is larger than the receiver, or the system, takes.
  public static let messageTooLarge = messageTooLarge("the message is too large")
  /// The message has more descriptors than `Message.maximumDescriptors`. Between processes a payload of more than 64
  /// KiB counts as a descriptor, and so does each right to a port of a third process.
  public static let tooManyDescriptors = RunLoopError(
    .runLoop, code: 17,
    "too many descriptors: a message has room for \(RunLoop.Message.maximumDescriptors); between processes a payload of "
      + "more than 64 KiB takes one of these places, and so does each right to a third process's port")
}

// The same errors, each made when it is thrown. Their texts name the call, the item or the value.
extension RunLoopError {
  @inline(never)
  package static func wrongThread(call: String?) -> RunLoopError {
    RunLoopError(
      .runLoop, code: 1, call: call, "call this on the run loop's own thread, or post it by perform(in:_:block:onDrop:)"
    )
  }

  static var mainLoopEnded: RunLoopError {
    RunLoopError(
      .runLoop, code: 2,
      "the main thread has ended: an async main ends it at its first suspension, dispatchMain() at once; make main "
        + "synchronous, and call RunLoop.main.run { await ... } there")
  }

  /// Thrown by `RunLoop.Thread.perform` after `stop(_:)`, although the thread's loop itself still accepts blocks.
  static func stopping(thread name: String) -> RunLoopError {
    RunLoopError(
      .runLoop, code: 2, "the thread \"\(name)\" is stopping; its loop accepts blocks until the thread ends")
  }

  /// Thrown by `RunLoop.Thread.perform` once a thread that `stop(_:)` has stopped is over.
  static func ended(thread name: String) -> RunLoopError {
    RunLoopError(.runLoop, code: 2, "the thread \"\(name)\" has ended; make another one")
  }

  package static func invalidItem(_ item: String) -> RunLoopError {
    RunLoopError(.runLoop, code: 4, "\(item) has been invalidated; create another one")
  }

  static func itemInOtherLoop(_ item: String) -> RunLoopError {
    RunLoopError(.runLoop, code: 5, "\(item) was made with assumeOnLoop of another run loop; add it to that one")
  }

  static func commonModeNotRunnable(call: String?) -> RunLoopError {
    RunLoopError(
      .runLoop, code: 6, call: call,
      "no loop runs in .common, which stands for all common modes; name one of them, for example .default")
  }

  static func busy(call: String?) -> RunLoopError {
    RunLoopError(
      .runLoop, code: 7, call: call,
      "a call of the host is notifying the loop's observers; call this when that has returned")
  }

  @inline(never)
  static func hostedElsewhere(call: String, _ mode: RunLoop.Mode, waitsIn other: RunLoop.Mode) -> RunLoopError {
    RunLoopError(
      .runLoop, code: 18, call: call,
      "the loop waits for its host in the mode \"\(other.rawValue)\", and cannot wait in \"\(mode.rawValue)\" as well; "
        + "end that wait before (cancelWait(in:), leave()), or host one mode and add the items of both to .common")
  }

  static func inSignalHandler(call: String?) -> RunLoopError {
    RunLoopError(.runLoop, code: 8, call: call, "not from a signal handler; have a signal source call it")
  }

  static func wouldDeadlock(call: String?, _ text: String) -> RunLoopError {
    RunLoopError(.runLoop, code: 9, call: call, text)
  }

  package static func portInvalid(_ text: String) -> RunLoopError { RunLoopError(.runLoop, code: 13, text) }

  package static func portFull(_ text: String) -> RunLoopError { RunLoopError(.runLoop, code: 14, text) }

  static func fullQueue(_ limit: Int) -> String {
    "the port is full (\(limit) \(limit == 1 ? "message waits" : "messages wait")); send(_:timeout:) waits for room"
  }

  package static func messageTooLarge(_ text: String) -> RunLoopError { RunLoopError(.runLoop, code: 16, text) }
}
