internal import CRunLoopCore
import RunLoopKit

/// Owns the descriptors of a source of system events: an `rlc_event_port`.
struct EventPort: Sendable {
  /// Closes all descriptors when it is released.
  let owned: OwnedDescriptor
  private let port: rlc_event_port

  /// - Parameter inner: A descriptor that the port takes over, even if this throws; nil if only `setFlag` makes the
  ///   port ready.
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

  /// The descriptor that `init` took over. Use it while `owned` is held.
  var inner: Int32 { port.inner }

  /// Makes the port ready, or not ready. Call it while `owned` is held, and only if the flag changes.
  func setFlag(_ isUp: Bool) {
    withUnsafePointer(to: port) { rlc_event_port_set_flag($0, isUp) }
  }
}
