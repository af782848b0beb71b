/// What a pass has to serve: at most one.
enum PassEvent {
  case none
  case timer
  case mainQueue
  /// The wait has failed, and so would the next one: the run ends.
  case failed
  case port(RunLoop.Item, ready: UInt32)
}
