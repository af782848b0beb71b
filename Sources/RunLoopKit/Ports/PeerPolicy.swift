internal import Glibc
internal import Synchronization

extension RunLoop {
  /// Which processes may connect, by what the kernel tells of them: judged before the first byte of theirs is read.
  public struct PeerPolicy: Sendable {
    private let judge: (@Sendable (Message.Sender) -> Bool)?

    /// Any rule.
    /// - Parameter isWelcome: Called with no lock held, on the thread of the loop that takes the connection, or that connects.
    public init(_ isWelcome: @escaping @Sendable (Message.Sender) -> Bool) { judge = isWelcome }

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

  /// A connection that a port has not taken, or has ended because its peer broke the rules.
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
final class PortTerms: Sendable {
  let policy: RunLoop.PeerPolicy
  let maximumPayload: UInt64
  private let onRefusal: (@Sendable (RunLoop.Refusal) -> Void)?
  private let refusals = Atomic<Int>(0)
  /// Connections that came by introductions. Both ends of one may be in this process by a peer's malice, and then it never
  /// ends: there is a limit.
  private let introductions = Atomic<Int>(0)
  private static let mostIntroductions = 512

  init(
    _ policy: RunLoop.PeerPolicy, maximumPayload: Int, onRefusal: (@Sendable (RunLoop.Refusal) -> Void)? = nil
  ) {
    self.policy = policy
    self.maximumPayload = UInt64(max(maximumPayload, 0))
    self.onRefusal = onRefusal
  }

  /// False if there are too many.
  func introductionBegins() -> Bool {
    if introductions.add(1, ordering: .relaxed).newValue <= PortTerms.mostIntroductions { return true }
    introductionHasEnded()
    return false
  }

  func introductionHasEnded() { introductions.subtract(1, ordering: .relaxed) }

  var refusalCount: Int { refusals.load(ordering: .relaxed) }

  /// With no lock held.
  func refused(_ refusal: RunLoop.Refusal) {
    refusals.add(1, ordering: .relaxed)
    if let onRefusal { _ = __RUNLOOPKIT_IS_CALLING_OUT_TO_A_REFUSAL_HOOK__(onRefusal, refusal) }
  }
}
