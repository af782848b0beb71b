/// A port's membership in one mode. The port's mailbox and the mode refer to it until the port leaves.
package final class PortMembership: @unchecked Sendable {
  package let port: RunLoop.Port
  package let loop: RunLoop
  let mode: ModePointer

  // Guarded by the loop's lock:
  /// Its index in the mode's ports; -1 after the port has left.
  var index = -1
  var isReady = false
  // Neighbours in the mode's list of ready ports. `MessagePorts.members` retains them.
  unowned(unsafe) var next: PortMembership?
  unowned(unsafe) var previous: PortMembership?

  package init(_ port: RunLoop.Port, _ loop: RunLoop, _ mode: ModePointer) {
    self.port = port
    self.loop = loop
    self.mode = mode
  }

  var isMember: Bool { index >= 0 }
}
