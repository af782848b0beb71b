import RunLoopKit
internal import RunLoopLibc

/// Counts what a peer makes this process hold. The parent is the account of all peers of the port together.
///
/// A charge that exceeds a limit of either account is refused, and nothing is charged. The lock is a leaf.
final class PeerAccount: @unchecked Sendable {
  /// What is counted. The raw value is the index in `counts`.
  enum Thing: Int, CaseIterable {
    case connection, introduction, right, descriptor, mappedByte
  }

  private let limits: RunLoop.PeerLimits
  private let parent: PeerAccount?
  private let lock = Lock()
  /// Guarded by `lock`.
  private var counts = [Int](repeating: 0, count: Thing.allCases.count)

  init(_ limits: RunLoop.PeerLimits, of parent: PeerAccount? = nil) {
    self.limits = limits
    self.parent = parent
  }

  func count(_ thing: Thing) -> Int { lock.withLock { counts[thing.rawValue] } }

  /// Counts things until the charge is released.
  /// - Throws: The limit that refuses the charge.
  func charge(_ number: Int, _ thing: Thing) throws(Excess) -> Charge {
    guard add(number, thing) else { throw Excess(thing: thing, limit: limits[thing], isOfPort: parent == nil) }
    guard let parent else { return Charge(self, number, thing) }
    guard parent.add(number, thing) else {
      subtract(number, thing)
      throw Excess(thing: thing, limit: parent.limits[thing], isOfPort: true)
    }
    return Charge(self, number, thing)
  }

  private func add(_ number: Int, _ thing: Thing) -> Bool {
    lock.withLock {
      let (sum, isOver) = counts[thing.rawValue].addingReportingOverflow(number)
      guard !isOver, sum <= limits[thing] else { return false }
      counts[thing.rawValue] = sum
      return true
    }
  }

  private func subtract(_ number: Int, _ thing: Thing) { lock.withLock { counts[thing.rawValue] -= number } }

  /// Things that a peer makes this process hold. They are counted until this object is released.
  final class Charge: Sendable {
    private let account: PeerAccount
    private let number: Int
    private let thing: Thing

    fileprivate init(_ account: PeerAccount, _ number: Int, _ thing: Thing) {
      self.account = account
      self.number = number
      self.thing = thing
    }

    deinit {
      account.subtract(number, thing)
      account.parent?.subtract(number, thing)
    }
  }

  /// The limit that a charge would have exceeded.
  struct Excess: Error {
    let thing: Thing
    let limit: Int
    let isOfPort: Bool

    var reason: String {
      let what =
        switch thing {
        case .connection: "connections"
        case .introduction: "introductions"
        case .right: "rights"
        case .descriptor: "descriptors in messages that wait"
        case .mappedByte: "bytes in mapped files"
        }
      return "too many \(what): \(isOfPort ? "all peers" : "a peer") may have \(limit)"
    }
  }
}

/// The accounts of one port's peers: one for all together, and one for each peer that has charges.
final class PeerAccounts: @unchecked Sendable {
  /// What counts as one peer: a process of this user, or all processes of another user.
  private enum Key: Hashable {
    case process(Int32)
    case user(UInt32)
    case unknown

    init(_ peer: RunLoop.Message.Sender?) {
      guard let peer else {
        self = .unknown
        return
      }
      self = peer.userID == geteuid() ? .process(peer.processID) : .user(peer.userID)
    }
  }

  private struct WeakAccount {
    weak var account: PeerAccount?
  }

  let all: PeerAccount
  private let perPeer: RunLoop.PeerLimits
  private let lock = Lock()
  /// Guarded by `lock`, like all below.
  private var accounts: [Key: WeakAccount] = [:]
  private var sweepAt = 64

  init(_ policy: RunLoop.PeerPolicy) {
    perPeer = policy.perPeer
    all = PeerAccount(policy.perPort)
  }

  /// Returns the peer's account. The account exists while it is referenced.
  func account(of peer: RunLoop.Message.Sender?) -> PeerAccount {
    let key = Key(peer)
    return lock.withLock {
      if let account = accounts[key]?.account { return account }
      if accounts.count >= sweepAt {
        accounts = accounts.filter { $0.value.account != nil }
        sweepAt = max(64, accounts.count * 2)
      }
      let made = PeerAccount(perPeer, of: all)
      accounts[key] = WeakAccount(account: made)
      return made
    }
  }
}
