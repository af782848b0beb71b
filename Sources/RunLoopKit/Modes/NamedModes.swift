extension RunLoop {
  /// The modes that a call names; if it names none, the default mode.
  package struct NamedModes {
    package let first: Mode
    /// All modes that the call names if these are several, else none.
    let several: [Mode]

    package init(_ modes: [Mode]) {
      first = modes.first ?? .default
      several = modes.count > 1 ? modes : []
    }

    init(_ mode: Mode?, _ more: [Mode]) { self.init((mode.map { [$0] } ?? []) + more) }
  }
}
