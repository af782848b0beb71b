package import CRunLoopKit
internal import RunLoopEvents
internal import RunLoopKit
internal import RunLoopLibc

// The functions of <runloopkit/source.h>, where their contracts stand.

@c @implementation
package func rlk_descriptor_create(
  _ given: UnsafePointer<rlk_descriptor_options>!, _ ret_source: UnsafeMutablePointer<OpaquePointer?>!
) -> Int32 {
  guard let given = options(given), let ready = given.ready, let ret_source else { return Status.invalid }
  guard given.reserved == 0 else { return Status.invalid }
  let trigger: RunLoop.FileDescriptorSource.Trigger
  switch given.trigger {
  case RLK_TRIGGER_LEVEL: trigger = .level
  case RLK_TRIGGER_EDGE: trigger = .edge
  case RLK_TRIGGER_ONE_SHOT: trigger = .oneShot
  default: return Status.invalid
  }
  return handingOver(Held(ready, given.context, given.release)) { held in
    let source = try RunLoop.FileDescriptorSource(
      fileDescriptor: given.descriptor, interest: .init(rawValue: given.interest), trigger: trigger,
      ownership: given.owns_descriptor ? .closesWhenInvalidated : .borrowed,
      unpollable: given.always_ready ? .alwaysReady : .refuse
    ) { source, readiness in held.call(of: source) { $0(borrowed(source), readiness.rawValue, $1) } }
    ret_source.pointee = owned(source)
    return 0
  }
}

@c @implementation
package func rlk_descriptor_set_interest(_ source: OpaquePointer!, _ interest: UInt32) -> Int32 {
  guard let source = item(source, as: RunLoop.FileDescriptorSource.self) else { return Status.invalid }
  let end = end(of: source)
  guard end == 0 else { return end }
  return Status.of {
    try source.setInterest(.init(rawValue: interest))
    return 0
  }
}

@c @implementation
package func rlk_counter_create(
  _ given: UnsafePointer<rlk_counter_options>!, _ ret_source: UnsafeMutablePointer<OpaquePointer?>!
) -> Int32 {
  guard let given = options(given), let ready = given.ready, let ret_source else { return Status.invalid }
  guard given.reserved == 0 else { return Status.invalid }
  return handingOver(Held(ready, given.context, given.release)) { held in
    let source = try RunLoop.PortSource(fileDescriptor: given.descriptor) { source in
      held.call(of: source) { $0(borrowed(source), $1) }
    }
    ret_source.pointee = owned(source)
    return 0
  }
}

// MARK: Signals

private func signals(_ numbers: UnsafePointer<Int32>?, _ count: Int) -> Set<RunLoop.Signal>? {
  guard let numbers, count > 0 else { return nil }
  return Set((0..<count).map { RunLoop.Signal(rawValue: numbers[$0]) })
}

@c @implementation
package func rlk_signal_create(
  _ given: UnsafePointer<rlk_signal_options>!, _ ret_source: UnsafeMutablePointer<OpaquePointer?>!
) -> Int32 {
  guard let given = options(given), let receive = given.receive, let ret_source else { return Status.invalid }
  guard let signals = signals(given.signals, given.signal_count) else { return Status.invalid }
  return handingOver(Held(receive, given.context, given.release)) { held in
    let source = try RunLoop.SignalSource(signals) { source, received in
      var info = rlk_signal_info(
        size: MemoryLayout<rlk_signal_info>.stride, signal: received.signal.rawValue, code: received.code,
        process_id: received.processID, user_id: received.userID, status: received.status, value: received.value)
      held.call(of: source) { $0(borrowed(source), &info, $1) }
    }
    ret_source.pointee = owned(source)
    return 0
  }
}

@c @implementation
package func rlk_signals_block(_ numbers: UnsafePointer<Int32>!, _ count: Int) -> Int32 {
  guard let signals = signals(numbers, count) else { return Status.invalid }
  return Status.of {
    try RunLoop.Signal.block(signals)
    return 0
  }
}
