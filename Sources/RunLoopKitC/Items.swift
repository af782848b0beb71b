package import CRunLoopKit
internal import RunLoopKit

// The functions of <runloopkit/item.h>, where their contracts stand.

@c @implementation
package func rlk_item_retain(_ item: OpaquePointer!) -> OpaquePointer! { retain(item, RunLoop.Item.self) }

@c @implementation
package func rlk_item_release(_ item: OpaquePointer!) { release(item, RunLoop.Item.self) }

@c @implementation
package func rlk_loop_add(_ handle: OpaquePointer!, _ item: OpaquePointer!, _ name: UnsafePointer<CChar>!) -> Int32 {
  guard let item = object(item, as: RunLoop.Item.self), let mode = mode(name) else { return Status.invalid }
  RaceDetector.handOver(item)
  return Status.of { try loop(handle).add(item, to: mode).inC }
}

@c @implementation
package func rlk_loop_remove(_ handle: OpaquePointer!, _ item: OpaquePointer!, _ name: UnsafePointer<CChar>!) -> Int32 {
  guard let item = object(item, as: RunLoop.Item.self), let mode = mode(name) else { return Status.invalid }
  return loop(handle).remove(item, from: mode).inC
}

@c @implementation
package func rlk_loop_contains(_ handle: OpaquePointer!, _ item: OpaquePointer!, _ name: UnsafePointer<CChar>!) -> Int32
{
  guard let item = object(item, as: RunLoop.Item.self), let mode = mode(name) else { return Status.invalid }
  return loop(handle).contains(item, in: mode).inC
}

@c @implementation
package func rlk_item_invalidate(_ item: OpaquePointer!) -> Int32 {
  guard let item = object(item, as: RunLoop.Item.self) else { return Status.invalid }
  return changing(item) { item.invalidate() }
}

@c @implementation
package func rlk_item_invalidate_and_wait(_ item: OpaquePointer!, _ timeout_ns: UInt64) -> Int32 {
  guard let item = object(item, as: RunLoop.Item.self) else { return Status.invalid }
  return Status.of {
    try item.invalidateAndWait(timeout: limit(timeout_ns))
    RaceDetector.takeOver(item)
    return 0
  }
}

@c @implementation
package func rlk_item_is_valid(_ item: OpaquePointer!) -> Bool { object(item, as: RunLoop.Item.self)?.isValid ?? false }

@c @implementation
package func rlk_item_set_label(_ item: OpaquePointer!, _ label: UnsafePointer<CChar>!) -> Int32 {
  guard let item = object(item, as: RunLoop.Item.self) else { return Status.invalid }
  guard let label else { return changing(item) { item.label = nil } }
  guard let text = String(validatingCString: label) else { return Status.invalid }
  return changing(item) { item.label = text }
}

@c @implementation
package func rlk_item_set_keeps_running(_ item: OpaquePointer!, _ keeps_running: Bool) -> Int32 {
  guard let item = object(item, as: RunLoop.Item.self) else { return Status.invalid }
  return changing(item) { item.keepsRunning = keeps_running }
}

@c @implementation
package func rlk_item_describe(_ item: OpaquePointer!, _ buffer: UnsafeMutablePointer<CChar>!, _ size: Int) -> Int32 {
  guard let item = object(item, as: RunLoop.Item.self) else { return Status.invalid }
  return copy(item.description, to: buffer, size)
}

// MARK: Observers

@c @implementation
package func rlk_observer_create(
  _ given: UnsafePointer<rlk_observer_options>!, _ ret_observer: UnsafeMutablePointer<OpaquePointer?>!
) -> Int32 {
  guard let given = options(given), let observe = given.observe, let ret_observer else { return Status.invalid }
  let held = Held(observe, given.context, given.release, retain: given.retain)
  let observer = RunLoop.Observer(
    RunLoop.Activity(rawValue: UInt(given.activities)), order: Int(given.order), repeats: !given.once
  ) { observer, activity in
    held.call(of: observer) { $0(borrowed(observer), UInt32(truncatingIfNeeded: activity.rawValue), $1) }
  }
  observer.context = held.described(given.describe)
  ret_observer.pointee = owned(observer)
  return 0
}

// MARK: Signalled sources

/// The identity of a context, by the host's functions for equality and hash numbers.
private struct ContextIdentity: Hashable, @unchecked Sendable {
  let equal: rlk_equal_fn
  let hash: rlk_hash_fn
  let held: Held<rlk_source_fn>

  /// Contexts with different `equal` functions have different types, and so are not equal.
  static func == (a: ContextIdentity, b: ContextIdentity) -> Bool {
    unsafeBitCast(a.equal, to: UInt.self) == unsafeBitCast(b.equal, to: UInt.self)
      && a.equal(a.held.context, b.held.context)
  }

  func hash(into hasher: inout Hasher) { hasher.combine(hash(held.context)) }
}

@c @implementation
package func rlk_source_create(
  _ given: UnsafePointer<rlk_source_options>!, _ ret_source: UnsafeMutablePointer<OpaquePointer?>!
) -> Int32 {
  guard let given = options(given), let perform = given.perform, let ret_source else { return Status.invalid }
  guard (given.equal == nil) == (given.hash == nil) else { return Status.invalid }
  let held = Held(perform, given.context, given.release, retain: given.retain)
  var hooks = RunLoop.Source.Hooks()
  // The two hooks have no common helper: its parameter for the C function would put a type without a name into the
  // module, on which swift-symbolgraph-extract (6.3) crashes.
  if let schedule = given.schedule {
    hooks.schedule = { loop, mode in mode.rawValue.withCString { schedule(borrowed(loop), $0, held.context) } }
  }
  if let cancel = given.cancel {
    hooks.cancel = { loop, mode in mode.rawValue.withCString { cancel(borrowed(loop), $0, held.context) } }
  }
  if let equal = given.equal, let hash = given.hash {
    hooks.identity = ContextIdentity(equal: equal, hash: hash, held: held)
  }
  hooks.context = held.described(given.describe)
  let source = RunLoop.Source(order: Int(given.order), hooks: hooks) { source in
    held.call(of: source) { $0(borrowed(source), $1) }
  }
  ret_source.pointee = owned(source)
  return 0
}

@c @implementation
package func rlk_source_signal(_ source: OpaquePointer!) -> Int32 {
  guard let source = item(source, as: RunLoop.Source.self) else { return Status.invalid }
  let end = end(of: source)
  RaceDetector.handOver(source)
  if end == 0 { source.signal() }
  return end
}

@c @implementation
package func rlk_source_is_signalled(_ source: OpaquePointer!) -> Int32 {
  guard let source = item(source, as: RunLoop.Source.self) else { return Status.invalid }
  return source.isSignalled.inC
}
