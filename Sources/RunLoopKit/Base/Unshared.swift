internal import CRunLoopCore
internal import RunLoopLibc

/// Descriptors that a child of fork(2) closes when it begins. Otherwise a child that runs no other program would keep
/// them open, and the parent's peers would not notice the parent's end.
package enum Unshared {
  /// Makes a descriptor and lists it. `body` returns the descriptor, or a C status, which this function then returns. A
  /// fork by another thread waits meanwhile.
  /// - Throws: `.system` if the descriptor cannot be listed, for example for lack of memory. It is closed then.
  package static func make(_ body: () -> Int32) throws(RunLoopError) -> Int32 {
    rlc_kit_unshared_begin()
    let made = body()
    let status = made < 0 ? 0 : rlc_kit_unshared_add(made)
    if status < 0 { _ = RunLoopLibc.close(made) }
    rlc_kit_unshared_end()
    try RunLoopError.checkCore(status)
    return made
  }

  /// Runs `body`, which makes or receives descriptors and lists them. A fork by another thread waits meanwhile. `body`
  /// must not begin another section.
  @inline(__always)
  package static func section<Value>(_ body: () -> Value) -> Value {
    rlc_kit_unshared_begin()
    defer { rlc_kit_unshared_end() }
    return body()
  }

  /// Lists a descriptor with its present file. Called in the section that makes or receives it. Returns a C status.
  package static func add(_ descriptor: Int32) -> Int32 { rlc_kit_unshared_add(descriptor) }

  /// Takes a descriptor off the list: it is the program's now, and a child may keep it.
  package static func remove(_ descriptor: Int32) { rlc_kit_unshared_remove(descriptor) }

  /// Closes a descriptor and takes it off the list. It need not be listed.
  package static func close(_ descriptor: Int32) { rlc_kit_unshared_close(descriptor) }
}
