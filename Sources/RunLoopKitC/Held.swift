internal import CRunLoopKit
internal import RunLoopKit

/// A C function with its context, retained by closures. When the last closure is released, nothing can call the
/// function any more, and the context is released.
final class Held<Function>: @unchecked Sendable {
  private let function: Function
  let context: UnsafeMutableRawPointer?
  /// Only the thread that creates the object changes it, while no other thread has the object.
  private var release: rlk_release_fn?

  /// - Parameter retain: Called with the context; its result replaces the context.
  init(
    _ function: Function, _ context: UnsafeMutableRawPointer?, _ release: rlk_release_fn?, retain: rlk_retain_fn? = nil
  ) {
    self.function = function
    self.context = if let retain { retain(context) } else { context }
    self.release = release
    RaceDetector.handOver(self)
  }

  /// Calls `body` with the function. Tells ThreadSanitizer that the hand-over of the function and of `object` happens
  /// before the call, and the call before the end of both.
  func call<R>(of object: AnyObject? = nil, _ body: (Function, UnsafeMutableRawPointer?) -> R) -> R {
    RaceDetector.takeOver(self)
    if let object { RaceDetector.takeOver(object) }
    defer {
      RaceDetector.handOver(self)
      if let object { RaceDetector.handOver(object) }
    }
    return body(function, context)
  }

  /// Called if the call that has made this object fails: its caller keeps the context, so the deinit must not release
  /// it.
  func giveBack() { release = nil }

  deinit {
    guard let release else { return }
    RaceDetector.takeOver(self)
    release(context)
  }
}

// MARK: The words of a context

extension Held {
  /// Returns the host's description of the context; nil if the host gives none.
  func described(_ describe: rlk_describe_fn?) -> ContextWords? {
    describe.map { describe in ContextWords { [weak self] in self?.words(describe) ?? "" } }
  }

  /// Returns the host's text. Calls the host's function again, with more room, if the text does not fit.
  private func words(_ describe: rlk_describe_fn) -> String {
    var room = 128
    while true {
      let (length, words) = withUnsafeTemporaryAllocation(byteCount: room, alignment: 1) { bytes in
        let buffer = bytes.assumingMemoryBound(to: CChar.self)
        let length = Int(describe(context, buffer.baseAddress, room))
        return (length, String(decoding: bytes.prefix(max(0, length)), as: UTF8.self))
      }
      if length < room { return words }
      room = length + 1
    }
  }
}

/// The host's description of a context. Does not retain the context.
struct ContextWords: CustomStringConvertible, Sendable {
  fileprivate let words: @Sendable () -> String
  var description: String { words() }
}

/// Returns what `body` returns. If it fails, the caller keeps the context.
func handingOver<Function>(_ held: Held<Function>, _ body: (Held<Function>) throws -> Int32) -> Int32 {
  let status = Status.of { try body(held) }
  if status < 0 { held.giveBack() }
  return status
}
