/// The little that an item may ask of a loop, so that items know nothing else about loops.
protocol ItemHost: AnyObject, Sendable {
  /// Takes the item, which is invalid already, out of all modes and out of the common record.
  func detach(_ item: RunLoop.Item)
  /// The timer's date or tolerance has changed: find its new place. False if it is no member here any more.
  func reschedule(_ timer: RunLoop.Timer, _ change: RunLoop.Timer.Change) -> Bool
  /// The timer's callout in another loop, in which it came here, is over.
  func rearm(_ timer: RunLoop.Timer)
  /// The interest of a readiness source has changed, in this host's modes.
  func interestChanged(_ source: RunLoop.FileDescriptorSource) throws(RunLoopError)
  /// False in a child of fork(2).
  var isInThisProcess: Bool { get }
}
