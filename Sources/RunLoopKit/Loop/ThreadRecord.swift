internal import RunLoopLibc

/// The loop and the scopes of a thread. Made on first use. It ends with the thread.
package final class ThreadRecord {
  let scopes = ScopeStack.make()
  private(set) var loop: RunLoop?
  /// The signals that signal sources have blocked in this thread: bit n - 1 is signal n.
  package var claimedSignals: UInt64 = 0
  /// The buffer into which this thread reads packets of other processes.
  private var packetScratch: AnyObject?
  /// Called when the loop and the scopes have ended.
  var whenEnded: (() -> Void)?

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key, threadRecordEnds)
    guard status == 0 else {
      fatalError("RunLoopKit: no thread-specific key is left (pthread_key_create: \(status))")
    }
    return key
  }()

  /// The calling thread's record; nil if the thread has used neither loops nor scopes.
  package static var existing: ThreadRecord? {
    guard let pointer = pthread_getspecific(key) else { return nil }
    // `current` has stored and retained the record. The destructor of the key releases it.
    return Unmanaged<ThreadRecord>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// The serial of the calling thread's loop; 0 if it has none yet.
  package static var loopSerial: UInt64 { existing?.loop?.serial ?? 0 }

  package static var current: ThreadRecord {
    if let existing { return existing }
    let record = ThreadRecord()
    pthread_setspecific(key, Unmanaged.passRetained(record).toOpaque())
    return record
  }

  /// The calling thread's buffer for packets. A thread without a loop gets a new one each time. The buffer is accessed
  /// in this module, because another module would check each access for exclusivity.
  package static func packetScratch(_ make: () -> AnyObject) -> AnyObject {
    guard let record = existing, record.loop != nil else { return make() }
    if let kept = record.packetScratch { return kept }
    let made = make()
    record.packetScratch = made
    return made
  }

  /// The thread's loop, made on first use; in a child of fork(2) a new one.
  var currentLoop: RunLoop {
    if let loop, loop.isInThisProcess { return loop }
    // The parent's loop is never released, since the frames of the callout that has forked may use it.
    if let loop { _ = Unmanaged.passRetained(loop) }
    let made = MainThread.isCurrent ? MainLoop.shared : RunLoop(isMain: false, .current)
    loop = made
    made.owner.scopes = scopes
    made.beginThread()
    return made
  }

  deinit { scopes.destroy() }

  static func endCurrent() {
    guard let pointer = pthread_getspecific(key) else { return }
    threadRecordEnds(pointer)
  }

  /// Ends the loop and the scopes; called by the destructor of the thread-specific data. Callbacks that this calls
  /// still find the loop, except `whenEnded`.
  fileprivate func end(_ pointer: UnsafeMutableRawPointer) {
    pthread_setspecific(Self.key, pointer)
    scopes.drain(to: 0)
    if let loop, loop.isInThisProcess {
      loop.tearDown()
      scopes.drain(to: 0)
    }
    loop?.endThread()
    loop = nil
    pthread_setspecific(Self.key, nil)
    whenEnded?()
    whenEnded = nil
  }
}

/// The destructor of `key`. The C library calls it at the thread's end.
private func threadRecordEnds(_ pointer: UnsafeMutableRawPointer?) {
  guard let pointer else { return }
  // Consumes the reference that `current` has retained; `end` clears the value before it returns.
  let record = Unmanaged<ThreadRecord>.fromOpaque(pointer).takeRetainedValue()
  record.end(pointer)
}

extension RunLoop {
  /// The calling thread's loop; nil if it was not made yet.
  package static var existing: RunLoop? {
    if let loop = ThreadRecord.existing?.loop, loop.isInThisProcess { return loop }
    return MainThread.isCurrent ? MainLoop.existing : nil
  }

  /// Ends the calling thread's loop and scopes, as the thread's end does. The thread may get new ones afterwards. The
  /// main thread must not call this.
  package static func endCurrent() { ThreadRecord.endCurrent() }
}

extension RunLoop: ProcessWideObject {}
