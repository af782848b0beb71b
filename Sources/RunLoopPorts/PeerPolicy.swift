import RunLoopKit
internal import RunLoopLibc

extension RunLoop {
  /// Which processes may connect and send. The kernel identifies them.
  ///
  /// When a process connects, the port asks the policy before it reads the first byte. At this time the kernel names
  /// the process's effective user [RLK-PEER-7, RLK-PEER-8]. With each packet the kernel names the sender and its real
  /// user. If that sender is not the one that the policy accepted last on this connection, the port asks the policy
  /// again before it opens the packet. If the policy refuses, the port ends the connection [RLK-PEER-27, RLK-PEER-28].
  /// The sender changes when a child inherits the connection over fork(2), or the process changes its user. A
  /// set-user-ID program has two users: either the policy allows both, or the program makes them one by setreuid(2).
  public struct PeerPolicy: Sendable {
    private let judge: (@Sendable (Message.Sender) -> Bool)?

    /// How much one peer may make this process hold.
    public var perPeer = PeerLimits.defaultPerPeer
    /// How much all peers of the port together may make this process hold.
    public var perPort = PeerLimits.defaultPerPort

    /// Creates a policy from a closure.
    /// - Parameter isWelcome: Called with no lock held, on the thread whose loop takes the connection or the packet, or
    ///   on the thread that connects.
    public init(_ isWelcome: @escaping @Sendable (Message.Sender) -> Bool) { judge = isWelcome }

    /// How many bytes of memory files, made for one connection, the peer may leave unread; by default 256 MiB. Beyond
    /// that a sender waits as for a full port. A single message may have any size [RLK-WIRE-25]. A negative number
    /// counts as 0. Bytes that are forwarded as they came, or were created in shared memory, are not copied, and do not
    /// count [RLK-PEER-30].
    public var unreadBytes = 1 << 28

    private init() { judge = nil }

    /// Accepts processes of this process's effective user.
    public static let sameUser = PeerPolicy()

    /// Accepts every process that finds the port. Only the folder's user and root can open the folder of names.
    public static let anyUser = PeerPolicy { _ in true }

    func welcomes(_ peer: Message.Sender) -> Bool {
      guard let judge else { return peer.userID == geteuid() }
      return __RUNLOOPKIT_IS_CALLING_OUT_TO_A_PEER_POLICY__(judge, peer)
    }
  }
}
