internal import CRunLoopKit
internal import RunLoopKit

/// A function of C with its context, as a closure holds them. The context ends when the last closure that has it does,
/// which is when nothing can call it any more.
final class Held<Function>: @unchecked Sendable {
  private let function: Function
  let context: UnsafeMutableRawPointer?
  /// Changed by who has made it, before anybody else has it or after nobody has it any more.
  private var release: rlk_release_fn?

  /// - Parameter retain: What it returns takes the context's place.
  init(
    _ function: Function, _ context: UnsafeMutableRawPointer?, _ release: rlk_release_fn?, retain: rlk_retain_fn? = nil
  ) {
    self.function = function
    self.context = if let retain { retain(context) } else { context }
    self.release = release
    RaceDetector.handOver(self)
  }

  /// Calls the function, as `body` does. What was handed over with it, and with the object that it is called of, comes
  /// before; and what it does before the end of both.
  @inline(__always)
  func call<R>(of object: AnyObject? = nil, _ body: (Function, UnsafeMutableRawPointer?) -> R) -> R {
    RaceDetector.takeOver(self)
    if let object { RaceDetector.takeOver(object) }
    defer {
      RaceDetector.handOver(self)
      if let object { RaceDetector.handOver(object) }
    }
    return body(function, context)
  }

  /// A call that has failed leaves the context to the caller.
  func giveBack() { release = nil }

  deinit {
    guard let release else { return }
    RaceDetector.takeOver(self)
    release(context)
  }
}

// MARK: The words of a context

extension Held {
  /// What an item is for, in the words of its host; nil without words.
  func described(_ describe: rlk_describe_fn?) -> ContextWords? {
    describe.map { describe in ContextWords { [weak self] in self?.words(describe) ?? "" } }
  }

  /// Asked for twice if they are longer than expected.
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

/// The words of a context, which they do not keep.
struct ContextWords: CustomStringConvertible, Sendable {
  fileprivate let words: @Sendable () -> String
  var description: String { words() }
}

/// What `body` returns. If it fails, the context is still the caller's.
@inline(__always)
func handingOver<Function>(_ held: Held<Function>, _ body: (Held<Function>) throws -> Int32) -> Int32 {
  let status = Status.of { try body(held) }
  if status < 0 { held.giveBack() }
  return status
}
