internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

extension RunLoop.Port {
  /// The largest payload that a port accepts from another process by default: 1 GiB.
  public static let defaultMaximumPayload = 1 << 30

  /// Creates a port that other processes find by its name.
  ///
  /// The name is a socket in `$XDG_RUNTIME_DIR/runloopkit`, else `/run/user/UID/runloopkit`, else
  /// `/tmp/runloopkit-UID`: a folder that must be this user's alone (0700). A name has one owner; a port takes over the
  /// name of a dead owner [RLK-WIRE-14]. The name is free again when the port is invalidated or destroyed, and when the
  /// process ends in any way. The sticky bit asks cleaners of temporary files to leave the socket alone; if one removes
  /// it nevertheless, `ownsName` becomes false and the closure of `onNameLoss` is called [RLK-WIRE-26]. Loops that run
  /// a mode with the port in it accept connections and read messages. Until then a peer's messages wait in the kernel,
  /// and the peer waits when the kernel's buffer is full [RLK-WIRE-7].
  /// - Parameters:
  ///   - name: 1 to 64 of A-Z a-z 0-9 . _ -, not beginning with a dot, not ending in ".lock".
  ///   - queueLimit: How many messages may wait, at least 1; beyond that, senders wait.
  ///   - policy: Who may connect.
  ///   - maximumPayload: The most bytes of one message; the port refuses a peer that sends more.
  ///   - onRefusal: Called for each connection that the port refuses, or ends because the peer violated the protocol.
  ///     Also called for each message and introduction over a limit of the policy. Called on the thread that refuses,
  ///     with no lock held.
  ///   - receive: Called for each message, on the thread of the loop that runs, with no lock held. The port keeps the
  ///     closure while the port is valid.
  /// - Throws: A `RunLoopError`: `.badName`; `.nameTaken`; `.system`: `EPERM` for a folder that belongs to another user
  ///   or is open to others (the description says which, and what to do) [RLK-WIRE-15, RLK-WIRE-27], `EMFILE`,
  ///   `ENFILE`, `ENOSPC`...
  /// - Complexity: Some twenty system calls. - SeeAlso: `CFMessagePortCreateLocal`.
  public convenience init(
    registeredAs name: String, queueLimit: Int = RunLoop.Port.defaultQueueLimit,
    accepting policy: RunLoop.PeerPolicy = .sameUser, maximumPayload: Int = RunLoop.Port.defaultMaximumPayload,
    onRefusal: (@Sendable (RunLoop.Refusal) -> Void)? = nil,
    _ receive: @escaping @Sendable (RunLoop.Port, RunLoop.Message) -> Void
  ) throws {
    let terms = PortTerms(policy, maximumPayload: maximumPayload, onRefusal: onRefusal)
    try self.init(name, queueLimit, terms, onlyLoop: nil, unchecked: receive)
  }

  /// As `init(registeredAs:queueLimit:accepting:maximumPayload:onRefusal:_:)`, with a closure that returns the answer.
  @_disfavoredOverload  // a trailing closure is taken as `receive`
  public convenience init(
    registeredAs name: String, queueLimit: Int = RunLoop.Port.defaultQueueLimit,
    accepting policy: RunLoop.PeerPolicy = .sameUser, maximumPayload: Int = RunLoop.Port.defaultMaximumPayload,
    onRefusal: (@Sendable (RunLoop.Refusal) -> Void)? = nil,
    replying: @escaping @Sendable (RunLoop.Port, RunLoop.Message) -> RunLoop.Message?
  ) throws {
    let terms = PortTerms(policy, maximumPayload: maximumPayload, onRefusal: onRefusal)
    try self.init(name, queueLimit, terms, onlyLoop: nil, unchecked: RunLoop.Port.answering(replying))
  }

  /// As `init(registeredAs:queueLimit:accepting:maximumPayload:onRefusal:_:)`, with a delegate, which the port does not
  /// retain.
  public convenience init(
    registeredAs name: String, queueLimit: Int = RunLoop.Port.defaultQueueLimit,
    accepting policy: RunLoop.PeerPolicy = .sameUser, maximumPayload: Int = RunLoop.Port.defaultMaximumPayload,
    onRefusal: (@Sendable (RunLoop.Refusal) -> Void)? = nil, delegate: any RunLoop.PortDelegate & Sendable
  ) throws {
    let terms = PortTerms(policy, maximumPayload: maximumPayload, onRefusal: onRefusal)
    try self.init(name, queueLimit, terms, onlyLoop: nil, unchecked: RunLoop.Port.calling(delegate))
  }

  convenience init(
    _ name: String, _ queueLimit: Int, _ terms: PortTerms, onlyLoop: RunLoop?,
    unchecked body: @escaping (RunLoop.Port, RunLoop.Message) -> Void
  ) throws {
    self.init(queueLimit: queueLimit, name: name, terms: terms, onlyLoop: onlyLoop, unchecked: body)
    _ = mailbox.connect(try Listener(name, of: mailbox, terms))
  }

  /// What the port's peers hold now, and what was refused to them; all 0 for a port without a name.
  /// - Thread: Any.
  public var peerStatistics: RunLoop.PeerStatistics { terms?.statistics ?? RunLoop.PeerStatistics() }

  /// Returns the right to send to a named port of any process of this user, including this one.
  ///
  /// ```swift
  /// import Glibc
  /// let name = "greeter-\(getpid())"
  /// let port = try RunLoop.Port(registeredAs: name, replying: { _, _ in RunLoop.Message(bytes: "hello") })
  /// let server = RunLoop.Thread(name: "server") { loop in try loop.add(port) }
  /// try server.start()  // mostly in another process
  /// let right = try RunLoop.Port.connect(to: name)
  /// let answer = try right.request(RunLoop.Message(), timeout: .seconds(5))
  /// print(answer.bytes?.count ?? 0, "bytes")  // prints 5 bytes
  /// ```
  /// - Parameters:
  ///   - name: The name under which the port is registered.
  ///   - policy: Which owner of the name the caller accepts.
  ///   - maximumPayload: The most bytes of one message that may come back on the connection.
  /// - Throws: A `RunLoopError`: `.badName`; `.noSuchPort` if no process owns the name; `.refused` if the policy does
  ///   not accept its owner; `.portFull` if the owner's queue of connections is full; `.system`. If the owner refuses
  ///   this process, the first send throws, and the closure of `onInvalidation` is called.
  /// - Thread: Any. - Blocks: No. - Complexity: Some ten system calls. - SeeAlso: `CFMessagePortCreateRemote`.
  public static func connect(
    to name: String, accepting policy: RunLoop.PeerPolicy = .sameUser,
    maximumPayload: Int = RunLoop.Port.defaultMaximumPayload
  ) throws -> SendRight {
    guard rlc_port_name_is_valid(name) else { throw RunLoopError.badName(PortWords.quoted(name)) }
    let folder = try PortFolder.open()
    let descriptor: Int32
    do throws(RunLoopError) {
      descriptor = try Unshared.make { rlc_port_name_connect(folder, name) }
    } catch {
      close(folder)
      throw error
    }
    guard descriptor >= 0 else {
      let error = refusal(of: name, in: folder, descriptor)
      close(folder)
      throw error
    }
    close(folder)
    var credentials = rlc_credentials()
    let status = rlc_message_socket_peer(descriptor, &credentials)
    guard status >= 0 else {  // zeroed credentials would pass for root's
      Unshared.close(descriptor)
      throw RunLoopError.system(-status, call: "getsockopt", PortWords.port(name))
    }
    let owner = RunLoop.Message.Sender(credentials)
    let terms = PortTerms(policy, maximumPayload: maximumPayload)
    let channel = try Channel(
      descriptor, terms: terms, isInitiator: true, peer: owner, account: terms.accounts.account(of: owner), slot: nil)
    guard policy.welcomes(owner) else {
      channel.endConnection(nil)
      throw RunLoopError.refused(reason: "the port belongs to user \(owner.userID)")
    }
    return SendRight(channel.importing.withLock { channel.imports.arrived(0, on: channel) })
  }

  /// The error of a failed connect. Call it right after the core function.
  private static func refusal(of name: String, in folder: Int32, _ status: Int32) -> RunLoopError {
    let error = PortWords.failure(of: name, in: folder, status)
    switch (error.call, status) {
    case (nil, -ENOENT),
      ("connect", -ENOENT) where PortFolder.isReached(folder):
      return .noSuchPort("no port is registered as \(PortWords.quoted(name)) in \(PortFolder.path)")
    case ("connect", -EAGAIN):
      return .portFull(
        "\(PortWords.port(name)) is full: its owner has not taken the connections that wait; try again later")
    default: return error
    }
  }
}
