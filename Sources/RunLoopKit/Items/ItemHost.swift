/// A loop, as the items in its modes know it: what they ask of it, and tell it.
protocol ItemHost: AnyObject {
  /// False in a child of fork(2) that inherited it.
  var isInThisProcess: Bool { get }
  /// Its own thread is the calling one, which holds it.
  var isHeldByCaller: Bool { get }
  /// The item leaves a mode, under the locks of both; its callout may be on the loop's stack.
  func noteLeaving(_ item: RunLoop.Item)
  /// Once: the item is invalid and has left its modes, so that no callout of it begins. With no lock held.
  static func endClosure(of item: RunLoop.Item, _ owner: RunLoop?)
  func count(_ counter: Counters.Counter)
  /// Its callout begins: nested runs leave the source out. False if it is on the stack already. [loop]
  func beginServing(_ source: RunLoop.FileDescriptorSource, in mode: ModePointer) -> Bool
  /// What `beginServing` has begun is over. [loop]
  func endServing(_ source: RunLoop.FileDescriptorSource)
  /// Where the run lies that calls the item. [loop]
  var placeOfRun: UInt { get }
  /// The callout has returned to the run that lies there: what it has begun, and is not over, was left. [loop]
  func endRuns(insideOf place: UInt)
  /// A descriptor source has changed its interest.
  func interestChanged(_ source: RunLoop.DescriptorItem) throws(RunLoopError)
  /// False if the timer is not the loop's any more.
  func reschedule(_ timer: RunLoop.Timer, _ change: RunLoop.Timer.Change) -> Bool
}

/// A mode, as items and ports know it: a place, of which only the loop sees the inside (ModeState.swift).
package struct ModePointer: Hashable {
  let address: UnsafeMutableRawPointer

  package init(address: UnsafeMutableRawPointer) { self.address = address }
}
