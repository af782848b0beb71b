/// A port in one mode. Port and mode refer to it as long as it lasts.
package final class PortMembership: @unchecked Sendable {
  package let port: RunLoop.Port
  package let host: RunLoop
  let mode: ModePointer

  // Guarded by the loop's lock:
  /// Among the mode's ports; -1 after it has left.
  var index = -1
  @exclusivity(unchecked) var isReady = false
  // Both are in the same mode's list, whose `members` hold them: `remove` takes a membership out of the list first.
  @exclusivity(unchecked) unowned(unsafe) var next: PortMembership?
  @exclusivity(unchecked) unowned(unsafe) var previous: PortMembership?

  package init(_ port: RunLoop.Port, _ host: RunLoop, _ mode: ModePointer) {
    self.port = port
    self.host = host
    self.mode = mode
  }

  var isMember: Bool { index >= 0 }
}
