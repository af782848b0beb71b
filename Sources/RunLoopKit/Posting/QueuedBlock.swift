/// A block and its modes. It runs in whichever of them the loop runs first.
struct QueuedBlock {
  let mode: ModePointer
  /// The further modes, and the ticket. Nil if the block has neither.
  let others: OtherModes?
  let body: () -> Void

  final class OtherModes {
    /// Each once, and without `mode`.
    let modes: [ModePointer]
    /// Set if a thread or a task waits for the block.
    let ticket: BlockTicket?

    init?(_ modes: [ModePointer], besides first: ModePointer, ticket: BlockTicket? = nil) {
      var distinct: [ModePointer] = []
      for mode in modes where mode != first && !distinct.contains(mode) { distinct.append(mode) }
      guard !distinct.isEmpty || ticket != nil else { return nil }
      self.modes = distinct
      self.ticket = ticket
    }
  }

  @inline(__always)
  func forEachMode(_ body: (ModePointer) -> Void) {
    body(mode)
    if let others { others.modes.forEach(body) }
  }

  func names(_ wanted: ModePointer) -> Bool {
    mode == wanted || (others?.modes.contains(wanted) ?? false)
  }
}
