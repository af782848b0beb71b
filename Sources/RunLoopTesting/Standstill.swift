import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

/// How much real time may pass without progress, and what happens then.
struct Patience: Sendable {
  let duration: Duration
  private let isFatal: Bool

  init(_ policy: VirtualTime.StuckPolicy) {
    switch policy {
    case .report(let duration): (self.duration, isFatal) = (duration, false)
    case .abort(let duration): (self.duration, isFatal) = (duration, true)
    }
  }

  /// At least 1, and at most a day.
  var milliseconds: Int { Int(max(1, min(duration / .milliseconds(1), 86_400_000))) }

  func report(_ text: String) {
    StandardError.write(text)
    if isFatal { abort() }
  }
}

extension Turns {
  /// Returns a line for the clock and one for each participant. The caller holds the lock.
  func describeLocked() -> String {
    let lines = participants.map { "  \(describe($0))" }
    return (["  the clock shows \(Self.seconds(now)) s"] + lines).joined(separator: "\n")
  }

  /// The caller holds the lock.
  func describe(_ participant: Participant) -> String { "\(participant.threadWords) \(state(of: participant))" }

  private func state(of participant: Participant) -> String {
    if holder === participant {
      return
        "holds the turn: it runs, or waits in a way that virtual time does not know of (`leave` before such a wait)"
    }
    guard let wait = participant.wait else { return "could run, and waits for its turn" }
    return "waits for \(wait.purpose)" + (wait.deadline == .max ? "" : " until \(Self.seconds(wait.deadline)) s")
  }

  private static func seconds(_ nanoseconds: UInt64) -> String {
    let fraction = String(nanoseconds % 1_000_000_000 + 1_000_000_000).dropFirst()
    return "\(nanoseconds / 1_000_000_000).\(fraction)"
  }
}

extension Participant {
  /// Reads the number from `/proc/thread-self`, a link to `PID/task/TID`; 0 if there is no /proc.
  static func callingThreadID() -> Int32 {
    var target = [CChar](repeating: 0, count: 64)
    let count = readlink("/proc/thread-self", &target, target.count - 1)
    let text = String(decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return text.split(separator: "/").last.flatMap { Int32($0) } ?? 0
  }

  /// The thread's number and its name, as the system's tools show them.
  fileprivate var threadWords: String {
    guard threadID != 0 else { return "a thread that has not begun" }
    var name = [UInt8](repeating: 0, count: 64)
    let descriptor = rlc_descriptor_adopt(open("/proc/self/task/\(threadID)/comm", O_RDONLY | O_CLOEXEC))
    let count = descriptor < 0 ? 0 : read(descriptor, &name, name.count)
    if descriptor >= 0 { close(descriptor) }
    let text = String(decoding: name.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    return "thread \(threadID) \"\(text)\""
  }
}
