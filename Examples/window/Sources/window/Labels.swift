/// The words that change, in the order in which they did.
@MainActor struct Labels {
  enum Name: String {
    case mode
    case defaultClock = "default clock"
    case commonClock = "common clock"
    case made, shown, primes
  }

  private var texts: [Name: String] = [:]
  private var changed: [Name] = []

  subscript(_ name: Name) -> String {
    get { texts[name] ?? "" }
    set {
      guard texts[name] != newValue else { return }
      texts[name] = newValue
      changed.removeAll { $0 == name }
      changed.append(name)
    }
  }

  /// Said once they are on the screen.
  mutating func report() {
    for name in changed { Report.say("\(name.rawValue): \(self[name])") }
    changed.removeAll(keepingCapacity: true)
  }
}
