import Glibc
import RunLoopKit

/// An object with a thread of its own, in two forms.
private final class Strong: @unchecked Sendable {
  private let thread = RunLoop.Thread(name: "strong")

  func begin() throws {
    try thread.start()
    // The circle: self has the thread, the thread's loop has the timer, and the timer's closure has self. The loop runs
    // without end, so that nothing ever breaks it.
    try thread.loop?.add(RunLoop.Timer(after: .zero, interval: .seconds(1)) { _ in self.tick() })
  }

  private func tick() {}

  /// What breaks it by hand.
  func end() throws {
    thread.stop(.now)
    try thread.join()
  }
}

private final class Weak: @unchecked Sendable {
  private let thread = RunLoop.Thread(name: "weak")

  func begin() throws {
    try thread.start()
    // Nothing that the loop holds has self. The thread holds its own state, not its handle: when self goes, the handle goes,
    // and the thread stops after due work.
    try thread.loop?.add(RunLoop.Timer(after: .zero, interval: .seconds(1)) { [weak self] _ in self?.tick() })
  }

  private func tick() {}
}

extension Threads {
  static func anOwnerAndItsEndlessRun() throws {
    weak var seen: Strong?
    do {
      let owner = Strong()
      seen = owner
      try owner.begin()
    }
    expect(seen != nil, "an owner that its own timer holds stays, and its thread too")
    try seen?.end()
    expect(seen == nil, "until the thread is stopped: the end of a loop releases all its items")

    weak var seenWeak: Weak?
    do {
      let owner = Weak()
      seenWeak = owner
      try owner.begin()
    }
    // The timer's callout may hold it for a moment.
    while seenWeak != nil { sched_yield() }
    expect(seenWeak == nil, "an owner that its blocks hold weakly goes, and takes its thread along")
  }
}
