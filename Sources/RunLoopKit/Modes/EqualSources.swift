/// Sources that count as one (rule 28), compared before the lock is taken: their `==` is user code.
struct EqualSources {
  /// A source with those of the loop that have its hash.
  typealias Comparison = (source: RunLoop.Source, likely: [RunLoop.Source])

  private let classes: [ObjectIdentifier: [RunLoop.Source]]?

  /// Of an item that equals nothing but itself.
  @inline(__always)
  static var none: EqualSources { EqualSources(classes: nil) }

  @inline(__always)
  private init(classes: [ObjectIdentifier: [RunLoop.Source]]?) { self.classes = classes }

  /// Compares them; with no lock held.
  init(_ comparisons: [Comparison]) {
    var classes: [ObjectIdentifier: [RunLoop.Source]] = [:]
    for (source, likely) in comparisons { classes[ObjectIdentifier(source)] = likely.filter { $0 == source } }
    self.init(classes: classes)
  }

  @inline(__always)
  var isEmpty: Bool { classes == nil }

  /// Those that equal the item, itself left out.
  func of(_ item: RunLoop.Item) -> [RunLoop.Source] { classes?[ObjectIdentifier(item)] ?? [] }
}
