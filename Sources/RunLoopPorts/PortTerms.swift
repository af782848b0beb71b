import RunLoopKit
internal import Synchronization

/// What all connections of one named port share: its policy, limits, accounts and counters.
final class PortTerms: CustomStringConvertible, @unchecked Sendable {
  let policy: RunLoop.PeerPolicy
  let maximumPayload: UInt64
  /// Set before the port is shared; nil in the terms of `Port.connect`, which owns no name.
  nonisolated(unsafe) var claim: NameClaim?
  private let onRefusal: (@Sendable (RunLoop.Refusal) -> Void)?
  let accounts: PeerAccounts
  private let refusals = Atomic<Int>(0)
  private let refusedMessages = Atomic<Int>(0)
  private let refusedIntroductions = Atomic<Int>(0)

  /// What is refused. The connection of a refused message or introduction continues.
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

  /// Used in the port's description.
  var description: String { "\(statistics.connections) connections" }

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

  /// Counts and reports a refusal. Call it with no lock held.
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
  /// The terms of a named port; nil for other ports.
  var terms: PortTerms? { namedTerms as? PortTerms }
}
