import Glibc
import RunLoopKit

/// Accepts connections, and keeps them.
final class Server {
  let port: UInt16
  private let loop: RunLoop
  private let configuration: () -> Configuration
  private let answer: (Request, inout Answers) -> Void
  private var listener: Int32
  private var source: RunLoop.FileDescriptorSource?
  /// Lets the listener be heard again.
  private var pause: RunLoop.Timer?
  /// Given up for a moment when no other descriptor is left, to turn a client away instead of leaving it in the queue.
  private var spare: Int32
  private var clients: [Int32: Client] = [:]
  private var awaitingCommit: [Client] = []
  /// Called when the last client has left a server that is being drained.
  var onDrained: (() -> Void)?

  /// How many are accepted before others have their turn.
  private static let batch = 64
  private static let pauseLength = Duration.milliseconds(100)

  init(
    _ options: Options.Serve, on loop: RunLoop, configuration: @escaping () -> Configuration,
    answer: @escaping (Request, inout Answers) -> Void
  ) throws {
    self.loop = loop
    self.configuration = configuration
    self.answer = answer
    (listener, port) = try Socket.listen(host: options.host, port: options.port)
    spare = open("/dev/null", O_RDONLY | O_CLOEXEC)
    try loop.assumeOnLoop { local in
      source = try local.fileDescriptorSource(fileDescriptor: listener, interest: .readable) { [unowned self] _, _ in
        for _ in 0..<Self.batch { guard acceptOne() else { return } }
      }
      pause = try local.rearmableTimer { [unowned self] _ in source?.interest = .readable }
    }
  }

  /// The answers that waited for a commit can go, or are wrong.
  func release(isStored: Bool) {
    let clients = awaitingCommit
    awaitingCommit = []
    for client in clients { client.release(isStored: isStored) }
  }

  func configurationChanged() {
    for client in clients.values { client.configurationChanged() }
  }

  /// No more connections: those that have come are taken, and all are drained.
  func drain() {
    guard listener >= 0 else { return }
    while acceptOne() {}
    source?.invalidate()
    pause?.invalidate()
    close(listener)
    listener = -1
    for client in clients.values { client.drain() }
    if clients.isEmpty { onDrained?() }
  }

  /// Whatever the clients still have to fetch.
  func dropAll() {
    for client in clients.values { client.close() }
  }

  /// False if none is waiting, or none can be taken now.
  private func acceptOne() -> Bool {
    switch Socket.accept(listener) {
    case .none: return false
    case .connection(let descriptor):
      guard clients.count < configuration().maximumClients else {
        turnAway(descriptor)
        return true
      }
      return add(descriptor)
    case .exhausted(let code):
      // It would be ready again at once, and the loop would do nothing else.
      if spare >= 0 {
        close(spare)
        if case .connection(let descriptor) = Socket.accept(listener) { turnAway(descriptor) }
        spare = open("/dev/null", O_RDONLY | O_CLOEXEC)
      }
      rest(because: String(cString: strerror(code)))
      return false
    }
  }

  private func add(_ descriptor: Int32) -> Bool {
    do {
      let host = Client.Host(
        loop: loop, configuration: configuration, answer: answer,
        awaitsCommit: { [unowned self] in awaitingCommit.append($0) }, isGone: { [unowned self] in remove($0) })
      clients[descriptor] = try Client(descriptor, host: host)
      return true
    } catch {
      // The client has closed the descriptor already.
      rest(because: "\(error)")
      return false
    }
  }

  private func turnAway(_ descriptor: Int32) {
    let words = Array("ERROR too many clients\n".utf8)
    _ = words.withUnsafeBytes { Socket.send(descriptor, $0) }
    close(descriptor)
  }

  private func rest(because reason: String) {
    Report.note("no connections for \(Self.pauseLength): \(reason)")
    source?.interest = []
    pause?.rearm(after: Self.pauseLength)
  }

  private func remove(_ client: Client) {
    clients[client.descriptor] = nil
    if listener < 0 && clients.isEmpty { onDrained?() }
  }
}
