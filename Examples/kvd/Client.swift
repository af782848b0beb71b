import Glibc
import RunLoopKit

/// One connection: what came and is no line yet, what goes back and is not sent yet, and when to give it up.
final class Client {
  /// What a client needs of the server. Nothing here keeps the server alive.
  struct Host {
    let loop: RunLoop
    let configuration: () -> Configuration
    let answer: (Request, inout Answers) -> Void
    let awaitsCommit: (Client) -> Void
    let isGone: (Client) -> Void
  }

  private enum Phase {
    case serving
    /// Only this many bytes more are read: they had arrived when the end was announced.
    case draining(Int)
    /// All is answered. Closing while something unread is here would reset the connection, and answers that are under way
    /// would be lost: read and forgotten until the client closes.
    case leaving
  }

  let descriptor: Int32
  private let host: Host
  private var source: RunLoop.FileDescriptorSource?
  private var idleTimer: RunLoop.Timer?
  /// When something came or went last.
  private var lastMoved = RunLoop.Instant.now
  private var phase = Phase.serving
  private var lines = LineReader()
  private var answers = Answers()
  /// The client sends no more, or is not listened to any more.
  private var hasEnded = false
  /// Lines are left that there was no room to answer.
  private var isCongested = false
  private var isAwaitingCommit = false

  init(_ descriptor: Int32, host: Host) throws {
    self.descriptor = descriptor
    self.host = host
    try host.loop.assumeOnLoop { local in
      source = try local.fileDescriptorSource(fileDescriptor: descriptor, interest: .readable) {
        [unowned self] _, readiness in serve(readiness)
      }
      let tolerance = host.configuration().idleTimeout / 8
      idleTimer = try local.rearmableTimer(tolerance: tolerance) { [unowned self] _ in lookIfIdle() }
    }
    idleTimer?.fireDate = idleEnd
  }

  // In this order: a closed number may be the next connection's.
  deinit {
    source?.invalidate()
    idleTimer?.invalidate()
    Glibc.close(descriptor)
  }

  /// Gives the connection up, with whatever is unsent.
  func close() {
    source?.invalidate()
    idleTimer?.invalidate()
    host.isGone(self)
  }

  func configurationChanged() {
    idleTimer?.tolerance = host.configuration().idleTimeout / 8
    idleTimer?.fireDate = idleEnd
  }

  private var idleEnd: RunLoop.Instant { lastMoved.advanced(by: host.configuration().idleTimeout) }

  /// The timer is not armed anew with each byte: it looks, when it fires, whether there were any. Where all clients are busy the one
  /// that is served is the one whose date came first, and each would pay for arming the system's timer.
  private func lookIfIdle() {
    if idleEnd <= .now { close() } else { idleTimer?.fireDate = idleEnd }
  }

  /// The commit that answers waited for is over.
  func release(isStored: Bool) {
    isAwaitingCommit = false
    guard source?.isValid == true else { return }
    answers.release(isStored: isStored)
    proceed()
  }

  /// Answers what has arrived by now, then says farewell.
  func drain() {
    guard case .serving = phase else { return }
    phase = .draining(hasEnded ? 0 : Socket.arrived(descriptor))
    proceed()
  }

  private func serve(_ readiness: RunLoop.FileDescriptorSource.Readiness) {
    if case .leaving = phase { return forget() }
    let hasNews = !readiness.isDisjoint(with: [.readable, .hangup, .error])
    if hasNews && !hasEnded && !isCongested && hasRoom {
      guard receive() else { return close() }
    } else if readiness.contains(.error) {
      return close()
    }
    proceed()
  }

  private var hasRoom: Bool { answers.count < host.configuration().outputLimit }

  /// False if the connection is broken. One read is enough: what is left makes the descriptor ready again.
  private func receive() -> Bool {
    var size = 64 << 10
    if case .draining(let rest) = phase { size = min(size, rest) }
    guard size > 0 else { return true }
    let result = withUnsafeTemporaryAllocation(byteCount: size, alignment: 16) { buffer in
      let result = Socket.receive(descriptor, into: buffer)
      if case .moved(let count) = result { lines.append(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
      return result
    }
    switch result {
    case .moved(let count):
      if case .draining(let rest) = phase { phase = .draining(rest - count) }
      lastMoved = .now
    case .wouldBlock: break
    // A last line without its newline is none.
    case .ended: hasEnded = true
    case .failed: return false
    }
    return true
  }

  /// Answers and sends as much as there is room for, and waits for what is missing.
  private func proceed() {
    answerLines()
    guard send() else { return close() }
    if case .draining(0) = phase { hasEnded = true }
    if hasEnded && answers.isEmpty && !isCongested { return finish() }
    wait()
  }

  private func answerLines() {
    let limit = host.configuration().maximumLine
    while hasRoom {
      guard let line = lines.next(limit: limit) else {
        isCongested = false
        return
      }
      switch line {
      case .text(let line):
        let request = Request(line)
        host.answer(request, &answers)
        if case .foreign = request { return refuseTheRest() }
      case .tooLong: answers.append("ERROR line too long")
      }
    }
    isCongested = true
  }

  /// Nothing more is read or answered: the connection is closed when the client has what was answered before.
  private func refuseTheRest() {
    lines = LineReader()
    hasEnded = true
    isCongested = false
  }

  /// False if the connection is broken.
  private func send() -> Bool {
    guard answers.unsent > 0 else { return true }
    var isBroken = false
    answers.send { bytes in
      switch Socket.send(descriptor, bytes) {
      case .moved(let count):
        lastMoved = .now
        return count
      case .failed: isBroken = true
      case .wouldBlock, .ended: break
      }
      return 0
    }
    return !isBroken
  }

  private func wait() {
    if answers.isHolding && !isAwaitingCommit {
      isAwaitingCommit = true
      host.awaitsCommit(self)
    }
    var interest: RunLoop.FileDescriptorSource.Readiness = []
    if !hasEnded && !isCongested && hasRoom { interest.insert(.readable) }
    // Also to go on with lines that had no room before: one client's are not answered all at once.
    if answers.unsent > 0 || (isCongested && hasRoom) { interest.insert(.writable) }
    // Setting it costs a system call.
    if source?.interest != interest { source?.interest = interest }
  }

  private func finish() {
    guard case .draining = phase else { return close() }
    phase = .leaving
    shutdown(descriptor, Int32(SHUT_WR))
    source?.interest = .readable
  }

  private func forget() {
    let result = withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) {
      Socket.receive(descriptor, into: $0)
    }
    switch result {
    case .moved, .wouldBlock: break
    case .ended, .failed: close()
    }
  }
}
