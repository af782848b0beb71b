/// The event that a pass serves, at most one. The code that takes an event serves it or drops it.
enum PassEvent {
  case none
  case timer
  case mainQueue
  /// The wait has failed for good, so the run ends.
  case failed
  /// An item that is ready, retained once. Unmanaged, because each function that returns a managed reference would
  /// count it.
  case port(Unmanaged<RunLoop.Item>, ready: UInt32)

  /// Releases the item of an event that is not served.
  func drop() { if case .port(let item, _) = self { item.release() } }
}
