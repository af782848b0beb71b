internal import Glibc
import RunLoopKit
internal import Synchronization

extension RunLoop {
  /// Which processes may connect, and send, by what the kernel tells of them.
  ///
  /// Who connects is judged before the first byte of his is read, by his effective user [RLK-PEER-7, RLK-PEER-8]. Each
  /// packet tells its own sender, by his real user: one who is not the last that was judged on the connection (it was
  /// inherited over fork(2), or its process has changed its user since) is judged before what he sent is opened, and
  /// ends the connection if he is not welcome [RLK-PEER-27, RLK-PEER-28]. So a set-user-ID program needs a policy that
  /// allows both its users, or one user: setreuid(2).
  public struct PeerPolicy: Sendable {
    private let judge: (@Sendable (Message.Sender) -> Bool)?

    /// How much one peer may make this process hold. - Thread: Any: a value.
    public var perPeer = PeerLimits.defaultPerPeer
    /// How much all peers of the port together may. - Thread: Any: a value.
    public var perPort = PeerLimits.defaultPerPort

    /// Any rule.
    /// - Parameter isWelcome: Called with no lock held, on the thread of the loop that takes the connection or the
    ///   packet, or that connects.
    public init(_ isWelcome: @escaping @Sendable (Message.Sender) -> Bool) { judge = isWelcome }

    /// Of the bytes that were copied into memory files for one connection so many may be on their way, not taken by the
    /// peer yet: 256 MiB if nothing else is said. Who sends more waits as for a full port; a message alone may be of
    /// any size [RLK-WIRE-25]. A negative number counts as 0. Bytes that go on as they came, or were made in shared
    /// memory, are not copied [RLK-PEER-30].
    /// - Thread: Any: a value.
    public var unreadBytes = 1 << 28

    var mostUnread: Int { max(unreadBytes, 0) }

    private init() { judge = nil }

    /// Processes of this process's effective user.
    public static let sameUser = PeerPolicy()

    /// Every process that finds the port; the folder of names lets nobody in but its user and root.
    public static let anyUser = PeerPolicy { _ in true }

    func welcomes(_ peer: Message.Sender) -> Bool {
      guard let judge else { return peer.userID == geteuid() }
      return __RUNLOOPKIT_IS_CALLING_OUT_TO_A_PEER_POLICY__(judge, peer)
    }
  }

  /// A connection that a port has not taken, or has ended because its peer broke the rules; or a message or an
  /// introduction of a connection that goes on.
  /// - Thread: Any: a value.
  public struct Refusal: Sendable, Hashable, CustomStringConvertible {
    /// Whom; nil if the kernel did not tell.
    public let peer: Message.Sender?
    /// Why, in words; the peer is told the same.
    public let reason: String

    /// Both.
    public var description: String { "\(peer.map { "\($0)" } ?? "unknown process"): \(reason)" }
  }
}

/// What the connections of one named port have in common.
final class PortTerms: NamedPortTerms, @unchecked Sendable {
  let policy: RunLoop.PeerPolicy
  let maximumPayload: UInt64
  /// Set before the port is anybody's; nil: it has no name, or is somebody else's.
  nonisolated(unsafe) var claim: NameClaim?
  private let onRefusal: (@Sendable (RunLoop.Refusal) -> Void)?
  let accounts: PeerAccounts
  private let refusals = Atomic<Int>(0)
  private let refusedMessages = Atomic<Int>(0)
  private let refusedIntroductions = Atomic<Int>(0)

  /// What is refused: only of a connection is it the end.
  enum Refused {
    case connection, message, introduction
  }

  init(
    _ policy: RunLoop.PeerPolicy, maximumPayload: Int, onRefusal: (@Sendable (RunLoop.Refusal) -> Void)? = nil
  ) {
    self.policy = policy
    accounts = PeerAccounts(policy)
    self.maximumPayload = UInt64(max(maximumPayload, 0))
    self.onRefusal = onRefusal
  }

  var words: String { "\(statistics.connections) connections, " }

  var refusalCount: Int { refusals.load(ordering: .relaxed) }

  var statistics: RunLoop.PeerStatistics {
    var now = RunLoop.PeerStatistics()
    now.connections = accounts.all.count(.connection)
    now.introductions = accounts.all.count(.introduction)
    now.rights = accounts.all.count(.right)
    now.undeliveredDescriptors = accounts.all.count(.descriptor)
    now.mappedBytes = accounts.all.count(.mappedByte)
    now.refusedConnections = refusalCount
    now.refusedMessages = refusedMessages.load(ordering: .relaxed)
    now.refusedIntroductions = refusedIntroductions.load(ordering: .relaxed)
    return now
  }

  /// With no lock held.
  func refused(_ refusal: RunLoop.Refusal, _ what: Refused = .connection) {
    switch what {
    case .connection: refusals.add(1, ordering: .relaxed)
    case .message: refusedMessages.add(1, ordering: .relaxed)
    case .introduction: refusedIntroductions.add(1, ordering: .relaxed)
    }
    if let onRefusal { _ = __RUNLOOPKIT_IS_CALLING_OUT_TO_A_REFUSAL_HOOK__(onRefusal, refusal) }
  }
}

extension RunLoop.Port {
  /// Of a port with a name.
  var terms: PortTerms? { namedTerms as? PortTerms }
}
