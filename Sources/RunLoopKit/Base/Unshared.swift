internal import CRunLoopCore
internal import RunLoopLibc

/// Descriptors that a child of fork(2) does not keep: it closes them where it begins. Else a child that runs no other
/// program would hide its parent's end from the parent's peers.
package enum Unshared {
  /// Makes one: `body` returns it, or a C status, which is returned. A fork of another thread waits meanwhile.
  /// - Throws: `.system` with `ENOMEM`: it was closed.
  package static func make(_ body: () -> Int32) throws(RunLoopError) -> Int32 {
    rlc_kit_unshared_begin()
    let made = body()
    let status = made < 0 ? 0 : rlc_kit_unshared_add(made)
    if status < 0 { _ = RunLoopLibc.close(made) }
    rlc_kit_unshared_end()
    try RunLoopError.checkCore(status)
    return made
  }

  /// A section in which descriptors are made, or come, and are listed. It must not begin another one.
  @inline(__always)
  package static func section<Value>(_ body: () -> Value) -> Value {
    rlc_kit_unshared_begin()
    defer { rlc_kit_unshared_end() }
    return body()
  }

  /// Lists a descriptor with the file that it has now. Called in the section that makes or receives it. A C status.
  package static func add(_ descriptor: Int32) -> Int32 { rlc_kit_unshared_add(descriptor) }

  /// A child may keep it from now on: it is the program's.
  package static func remove(_ descriptor: Int32) { rlc_kit_unshared_remove(descriptor) }

  /// Also one that is not listed.
  package static func close(_ descriptor: Int32) { rlc_kit_unshared_close(descriptor) }
}
