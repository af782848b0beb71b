/// Sources that count as one (rule 28), compared before the lock is taken: their `==` is user code.
struct EqualSources {
  private let classes: [ObjectIdentifier: [RunLoop.Source]]?

  /// Of an item that equals nothing but itself.
  @inline(__always)
  static var none: EqualSources { EqualSources(nil) }

  @inline(__always)
  init(_ classes: [ObjectIdentifier: [RunLoop.Source]]?) { self.classes = classes }

  @inline(__always)
  var isEmpty: Bool { classes == nil }

  /// Those that equal the item, itself left out.
  func of(_ item: RunLoop.Item) -> [RunLoop.Source] { classes?[ObjectIdentifier(item)] ?? [] }
}
