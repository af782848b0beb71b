import CSystemd
import Glibc
import RunLoopKit

/// A connection of sd-bus, served by a run loop in its common modes.
///
/// The library tells a descriptor, the readiness that it waits for, and the date at which it wants to be called. The last
/// two change with each call, so an observer asks for them before each sleep of the loop. The library may have read more
/// than it has handled: then the descriptor is silent, and the date is 0.
final class BusSource {
  let bus: OpaquePointer
  /// Called once, on the loop's thread, with the errno for which the connection has ended.
  var onEnd: (Int32) -> Void = { _ in }

  private let loop: RunLoop
  private var items: [RunLoop.Item] = []

  /// Takes over the caller's reference to the connection, which was started. Call it on the loop's thread.
  init(_ bus: OpaquePointer, on loop: RunLoop) throws {
    self.bus = bus
    self.loop = loop
    try loop.assumeOnLoop { local in try join(local) }
  }

  deinit {
    for item in items { item.invalidate() }
    sd_bus_flush_close_unref(bus)
  }

  private func join(_ local: borrowing RunLoop.Local) throws {
    // sd-bus handles one message in a call: this one is performed once in a pass, until nothing is left.
    let handler = try local.source(in: .common) { [unowned self] handler in process(handler) }
    items.append(handler)
    let descriptor = try local.fileDescriptorSource(
      fileDescriptor: sd_bus_get_fd(bus), interest: .readable, in: .common
    ) { _, _ in handler.signal() }
    items.append(descriptor)
    let timer = try local.rearmableTimer(in: .common) { _ in handler.signal() }
    items.append(timer)
    // After all others, which may have sent something.
    let observer = try local.observer(.beforeWaiting, order: .max, in: .common) { [unowned self] _, _ in
      settle(handler, descriptor, timer)
    }
    items.append(observer)
  }

  private func process(_ handler: RunLoop.Source) {
    let status = sd_bus_process(bus, nil)
    if status > 0 { handler.signal() }  // there may be more
    if status < 0 && status != -EBUSY { end(-status) }
  }

  /// Before the loop sleeps: what does the library wait for?
  private func settle(
    _ handler: RunLoop.Source, _ descriptor: RunLoop.FileDescriptorSource, _ timer: RunLoop.Timer
  ) {
    let events = sd_bus_get_events(bus)
    var microseconds = UInt64.max
    guard events >= 0, sd_bus_get_timeout(bus, &microseconds) >= 0 else { return end(ENOTCONN) }
    var interest: RunLoop.FileDescriptorSource.Readiness = []
    if events & POLLIN != 0 { interest.insert(.readable) }
    if events & POLLOUT != 0 { interest.insert(.writable) }
    descriptor.interest = interest  // no system call if it is the same
    switch microseconds {
    case .max: timer.disarm()
    case 0:  // it has read more than it has handled
      handler.signal()
      loop.wakeUp()  // a signal alone does not keep the loop from sleeping
    default:  // both are of CLOCK_MONOTONIC
      let (nanoseconds, isTooMuch) = microseconds.multipliedReportingOverflow(by: 1000)
      timer.fireDate = isTooMuch ? .distantFuture : RunLoop.Instant(nanoseconds: nanoseconds)
    }
  }

  private func end(_ error: Int32) {
    for item in items { item.invalidate() }
    items = []
    onEnd(error)
  }
}
