internal import RunLoopLibc

/// What a thread owns: its loop and its scopes. Made on first use, ended by the thread's end.
package final class ThreadRecord {
  let scopes = ScopeStack.make()
  private(set) var loop: RunLoop?
  /// The signals that signal sources have blocked in this thread: bit n - 1 is signal n.
  package var claimedSignals: UInt64 = 0
  /// What connections to other processes keep for the loop that serves them.
  @exclusivity(unchecked) private var packetScratch: AnyObject?
  /// Called when all of it is over.
  var whenEnded: (() -> Void)?

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key, threadRecordEnds)
    guard status == 0 else {
      fatalError("RunLoopKit: no thread-specific key is left (pthread_key_create: \(status))")
    }
    return key
  }()

  /// Nil if the thread has not used loops or scopes.
  package static var existing: ThreadRecord? {
    guard let pointer = pthread_getspecific(key) else { return nil }
    // What `current` has set, retained until the destructor of the key.
    return Unmanaged<ThreadRecord>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Of the calling thread's loop; 0 if it has none yet.
  package static var loopSerial: UInt64 { existing?.loop?.serial ?? 0 }

  package static var current: ThreadRecord {
    if let existing { return existing }
    let record = ThreadRecord()
    pthread_setspecific(key, Unmanaged.passRetained(record).toOpaque())
    return record
  }

  /// What the calling thread keeps for packets; made for the moment on a thread without a loop. From here, since
  /// another module checks each access for exclusivity.
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
    // Kept: the frames in which a callout has forked may use it.
    if let loop { _ = Unmanaged.passRetained(loop) }
    let made = MainThread.isCurrent ? MainLoop.shared : RunLoop(isMain: false, .current)
    loop = made
    made.owner.scopes = scopes
    made.beginThread()
    return made
  }

  deinit { scopes.destroy() }

  /// As the thread's end does, and the thread goes on.
  static func endCurrent() {
    guard let pointer = pthread_getspecific(key) else { return }
    threadRecordEnds(pointer)
  }

  /// The thread ends: the destructor of its thread-specific data. Callbacks find the loop in its place until all is
  /// over.
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

/// A C callback: a closure would inherit an isolation that it must not have.
private func threadRecordEnds(_ pointer: UnsafeMutableRawPointer?) {
  guard let pointer else { return }
  // The reference of `current`; `end` takes the value away before it returns.
  let record = Unmanaged<ThreadRecord>.fromOpaque(pointer).takeRetainedValue()
  record.end(pointer)
}

extension RunLoop {
  /// The calling thread's loop, if it was made.
  package static var existing: RunLoop? {
    if let loop = ThreadRecord.existing?.loop, loop.isInThisProcess { return loop }
    return MainThread.isCurrent ? MainLoop.existing : nil
  }

  /// Ends the calling thread's loop and scopes, as its end does: it may have others after that. Not on the main thread.
  package static func endCurrent() { ThreadRecord.endCurrent() }
}

extension RunLoop: ProcessWideObject {}
