/// Why a call was not carried out. A call that throws such an error has changed nothing, unless its documentation says
/// otherwise.
///
/// Two errors are equal if they have the same domain and code; the call and the text do not count [RLK-ERROR-9]. So you
/// can match an error by the name of its constant: `catch RunLoopError.loopEnded`,
/// `switch error { case RunLoopError.portFull: … default: … }`, `error as? RunLoopError == .timedOut`. Later versions
/// may add constants, so a `switch` needs a `default`.
///
/// The functions of this library are declared with an untyped `throws` (decision 0024). To read the members of an error
/// that they throw, write `catch let error as RunLoopError`.
public struct RunLoopError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What gives a code its meaning.
  ///
  /// Other modules may have domains of their own.
  public struct Domain: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name, which no other domain has.
    public let rawValue: String

    /// Creates a domain by its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The state of a loop, an item, a thread or a port: the constants of `RunLoopError`.
    public static let runLoop = Domain(rawValue: "RunLoopKit")
    /// An error of the system: the code is an errno(3) number.
    public static let system = Domain(rawValue: "errno")

    /// The name.
    public var description: String { rawValue }
  }

  /// What gives `code` its meaning.
  public let domain: Domain
  /// The number of the error in its domain. A number is never used again for another error.
  public let code: Int32
  /// The call that failed; nil if a value was refused before any call was made, or if the error is clear without it.
  ///
  /// A call of this library is spelled as it is declared (`run(in:for:returnAfterSourceHandled:)`), a call of the
  /// system as its manual page spells it (`epoll_ctl`) [RLK-ERROR-8].
  public var call: String? { details?.call }
  /// The call and the text are in an object, so that an error has four words. A function with a typed throw returns
  /// four words in registers.
  private let details: Details?

  private final class Details: Sendable {
    let call: String?
    let text: Text?

    init(_ call: String?, _ text: Text?) {
      self.call = call
      self.text = text
    }
  }

  private enum Text: Sendable {
    case words(String)
    /// The text is made only when it is read, since a sender may find a port full often.
    case queueLimit(Int)
  }

  /// Creates an error of any domain.
  /// - Parameters:
  ///   - domain: What gives the code its meaning.
  ///   - code: The number of the error in its domain; in the domain `.system` an errno(3) number.
  ///   - call: The call that failed.
  ///   - text: What the call was about (a descriptor, a path, a value) and what to do instead.
  public init(_ domain: Domain, code: Int32, call: String? = nil, _ text: String? = nil) {
    self.domain = domain
    self.code = code
    details = call == nil && text == nil ? nil : Details(call, text.map { .words($0) })
  }

  init(queueLimit: Int) {
    domain = .runLoop
    code = RunLoopError.portFull.code
    details = Details(nil, .queueLimit(queueLimit))
  }

  /// Creates an error of the system.
  /// - Parameters:
  ///   - errno: A number that errno(3) lists. Others are accepted, too.
  ///   - call: The system's call that failed; nil if a value was refused before any call was made.
  ///   - text: What the call was about (a descriptor, a path, a value) and what to do instead.
  public static func system(_ errno: Int32, call: String? = nil, _ text: String? = nil) -> RunLoopError {
    RunLoopError(.system, code: errno, call: call, text)
  }

  /// The number of an error of the system, as errno(3) lists it; nil in other domains.
  public var errno: Int32? { domain == .system ? code : nil }

  /// True if domain and code are the same.
  public static func == (a: RunLoopError, b: RunLoopError) -> Bool { a.code == b.code && a.domain == b.domain }

  /// Hashes the domain and the code.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(domain)
    hasher.combine(code)
  }

  /// Lets a `catch` or `switch` match any error with a constant: `catch RunLoopError.loopEnded`.
  public static func ~= (pattern: RunLoopError, error: any Error) -> Bool { (error as? RunLoopError) == pattern }

  /// What went wrong, and what to do instead if that is known. The text names the descriptor, path, port, item or value
  /// that the call was about [RLK-ERROR-10].
  ///
  /// An error of the system is worded `descriptor 7 is not open (epoll_ctl: Bad file descriptor)`, any other error
  /// `flush(): call this on the run loop's own thread, …`.
  public var description: String {
    let words: String? =
      switch details?.text {
      case .words(let words): words
      case .queueLimit(let limit): RunLoopError.fullQueue(limit)
      case nil: nil
      }
    if domain == .system { return systemText(about: words) }
    return [call, words ?? "\(domain) \(code)"].compactMap { $0 }.joined(separator: ": ")
  }
}
