/// The event that a pass serves: at most one. Who takes an event serves it, or drops it.
enum PassEvent {
  case none
  case timer
  case mainQueue
  /// The wait has failed for good: the run ends.
  case failed
  /// Retained once; counted by hand, since it goes through many hands, each of which would count.
  case port(Unmanaged<RunLoop.Item>, ready: UInt32)

  /// It will not be served.
  func drop() { if case .port(let item, _) = self { item.release() } }
}
