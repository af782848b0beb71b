internal import CRunLoopCore
import RunLoopKit

/// The descriptors of a source of system events: a thin owner of `rlc_event_port`.
struct EventPort: Sendable {
  /// Closes all of them.
  let owned: OwnedDescriptor
  private let port: rlc_event_port

  /// - Parameter inner: The port's from now on, also if this fails; nil: events come by `setFlag` only.
  init(inner: Int32?) throws(RunLoopError) {
    var made = rlc_event_port()
    let status = rlc_event_port_create(inner ?? -1, &made)
    if status < 0, let inner { RunLoop.closeDescriptor(inner) }
    try RunLoopError.checkCore(status)
    let port = made
    self.port = port
    owned = OwnedDescriptor(port.fd) {
      var closed = port
      rlc_event_port_close(&closed)
    }
  }

  /// While the port is held.
  var inner: Int32 { port.inner }

  /// While the port is held. Only where it changes something.
  func setFlag(_ isUp: Bool) {
    withUnsafePointer(to: port) { rlc_event_port_set_flag($0, isUp) }
  }
}
