package import CRunLoopKit
internal import RunLoopKit
internal import RunLoopPorts

// The functions of the second part of <runloopkit/port.h>, ports and rights. Their contracts stand there.

/// The object of a right's handle. Releasing the last reference to a right to answer gives the right up.
final class HeldRight: Sendable {
  let right: RunLoop.Port.SendRight

  init(_ right: RunLoop.Port.SendRight) { self.right = right }
}

// MARK: Ports

/// Converts a size_t; 0 means `usual`.
private func size(_ given: Int, or usual: Int) -> Int { given == 0 ? usual : given < 0 ? .max : given }

@c @implementation
package func rlk_port_create(
  _ given: UnsafePointer<rlk_port_options>!, _ ret_port: UnsafeMutablePointer<OpaquePointer?>!
) -> Int32 {
  guard let given = options(given), let receive = given.receive, let ret_port else { return Status.invalid }
  let limit = size(given.queue_limit, or: RunLoop.Port.defaultQueueLimit)
  let payload = size(Int(clamping: given.maximum_payload), or: RunLoop.Port.defaultMaximumPayload)
  return handingOver(Held(receive, given.context, given.release)) { held in
    let body: @Sendable (RunLoop.Port, RunLoop.Message) -> Void = { port, message in
      let message = HeldMessage(message)
      RaceDetector.takeOver(RaceDetector.messages)
      held.call(of: port) { $0(borrowed(port), borrowed(message), $1) }
      withExtendedLifetime(message) {}
    }
    guard let name = given.name else {
      ret_port.pointee = owned(RunLoop.Port(queueLimit: limit, body))
      return 0
    }
    guard let name = String(validatingCString: name) else { return Status.invalid }
    ret_port.pointee = owned(
      try RunLoop.Port(registeredAs: name, queueLimit: limit, maximumPayload: payload, body))
    return 0
  }
}

@c @implementation
package func rlk_port_right(_ port: OpaquePointer!, _ ret_right: UnsafeMutablePointer<OpaquePointer?>!) -> Int32 {
  guard let port = item(port, as: RunLoop.Port.self), let ret_right else { return Status.invalid }
  ret_right.pointee = owned(HeldRight(port.sendRight))
  return 0
}

@c @implementation
package func rlk_port_pending_count(_ port: OpaquePointer!) -> Int32 {
  guard let port = item(port, as: RunLoop.Port.self) else { return Status.invalid }
  return Int32(clamping: port.pendingCount)
}

// MARK: Rights

@c @implementation
package func rlk_right_connect(_ name: UnsafePointer<CChar>!, _ ret_right: UnsafeMutablePointer<OpaquePointer?>!)
  -> Int32
{
  guard let name, let name = String(validatingCString: name), let ret_right else { return Status.invalid }
  return Status.of {
    ret_right.pointee = owned(HeldRight(try RunLoop.Port.connect(to: name)))
    return 0
  }
}

@c @implementation
package func rlk_right_retain(_ right: OpaquePointer!) -> OpaquePointer! { retain(right, HeldRight.self) }

@c @implementation
package func rlk_right_release(_ right: OpaquePointer!) { release(right, HeldRight.self) }

@c @implementation
package func rlk_right_is_valid(_ right: OpaquePointer!) -> Bool {
  object(right, as: HeldRight.self)?.right.isValid ?? false
}

@c @implementation
package func rlk_right_is_equal(_ right: OpaquePointer!, _ other: OpaquePointer!) -> Bool {
  guard let right = object(right, as: HeldRight.self), let other = object(other, as: HeldRight.self) else {
    return false
  }
  return right.right == other.right
}

@c @implementation
package func rlk_right_send(_ right: OpaquePointer!, _ message: OpaquePointer!, _ timeout_ns: UInt64) -> Int32 {
  guard let right = object(right, as: HeldRight.self), let message = object(message, as: HeldMessage.self) else {
    return Status.invalid
  }
  RaceDetector.handOver(RaceDetector.messages)
  return Status.of {
    if timeout_ns == 0 {
      try right.right.trySend(message.message)
    } else {
      try right.right.send(message.message, timeout: limit(timeout_ns))
    }
    return 0
  }
}

@c @implementation
package func rlk_right_request(
  _ right: OpaquePointer!, _ message: OpaquePointer!, _ timeout_ns: UInt64, _ name: UnsafePointer<CChar>!,
  _ ret_answer: UnsafeMutablePointer<OpaquePointer?>!
) -> Int32 {
  guard let right = object(right, as: HeldRight.self), let message = object(message, as: HeldMessage.self),
    let mode = mode(name), let ret_answer
  else { return Status.invalid }
  RaceDetector.handOver(RaceDetector.messages)
  return Status.of {
    defer { RaceDetector.takeOver(RaceDetector.messages) }
    let answer = try right.right.request(message.message, timeout: limit(timeout_ns), in: mode)
    ret_answer.pointee = owned(HeldMessage(answer))
    return 0
  }
}
