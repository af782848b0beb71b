internal import CRunLoopKit

/// A function of C with its context, as a closure holds them. The context ends when the last closure that has it does,
/// which is when nothing can call it any more.
final class Held<Function>: @unchecked Sendable {
  let function: Function
  let context: UnsafeMutableRawPointer?
  /// Changed by who has made it, before anybody else has it or after nobody has it any more.
  private var release: rlk_release_fn?

  init(_ function: Function, _ context: UnsafeMutableRawPointer?, _ release: rlk_release_fn?) {
    self.function = function
    self.context = context
    self.release = release
  }

  /// A call that has failed leaves the context to the caller.
  func giveBack() { release = nil }

  deinit {
    if let release { release(context) }
  }
}

/// What `body` returns. If it fails, the context is still the caller's.
@inline(__always)
func handingOver<Function>(_ held: Held<Function>, _ body: (Held<Function>) throws -> Int32) -> Int32 {
  let status = Status.of { try body(held) }
  if status < 0 { held.giveBack() }
  return status
}
