import RunLoopKit
import Synchronization

/// Work on a thread of its own, whose results come on the loop of whoever wants them.
///
/// The owner adds `results` to a loop. The source's schedule callback hands that loop to the worker, which from then on knows
/// whom to signal and to wake; the cancel callback takes it back.
final class Squares: Sendable {
  /// To be added to the owner's loop.
  let results: RunLoop.Source
  private let thread = RunLoop.Thread(name: "squares")
  private let mailbox: Mailbox

  init(deliver: @escaping @Sendable (Int) -> Void) throws {
    let mailbox = Mailbox()
    self.mailbox = mailbox
    var hooks = RunLoop.Source.Hooks()
    hooks.schedule = { loop, _ in mailbox.state.withLock { $0.loops.append(loop) } }
    hooks.cancel = { loop, _ in mailbox.state.withLock { $0.remove(loop) } }
    results = RunLoop.Source(hooks: hooks) { _ in mailbox.takeAll().forEach(deliver) }
    try thread.start()
  }

  /// Any thread may ask. The block has the mailbox, not this object: nothing keeps an owner alive that waits for no answer.
  func ask(_ number: Int) throws {
    try thread.perform { [mailbox, results] in
      let loops = mailbox.put(number * number)
      results.signal()  // marks it; then each loop that serves it is woken
      for loop in loops { loop.wakeUp() }
    }
  }

  private final class Mailbox: Sendable {
    struct State: Sendable {
      var loops: [RunLoop] = []
      var values: [Int] = []

      mutating func remove(_ loop: RunLoop) {
        if let index = loops.firstIndex(where: { $0 === loop }) { loops.remove(at: index) }
      }
    }

    let state = Mutex(State())

    func put(_ value: Int) -> [RunLoop] {
      state.withLock {
        $0.values.append(value)
        return $0.loops
      }
    }

    func takeAll() -> [Int] {
      state.withLock { state in
        defer { state.values = [] }
        return state.values
      }
    }
  }
}

extension Threads {
  static func workerSignalsItsOwner() throws {
    let loop = RunLoop.current
    let received = Received()
    let squares = try Squares { value in
      received.sum.add(value, ordering: .relaxed)
      if received.count.add(1, ordering: .relaxed).newValue == 100 { RunLoop.current.stop() }
      if !loop.isCurrent { received.isElsewhere.store(true, ordering: .relaxed) }
    }
    try loop.add(squares.results)
    for number in 1...100 { try squares.ask(number) }
    let result = try loop.run()
    squares.results.invalidate()
    expect(result == .stopped && received.sum.load(ordering: .relaxed) == 338_350, "100 squares came back")
    expect(!received.isElsewhere.load(ordering: .relaxed), "all of them on the owner's loop")
  }

  private final class Received: Sendable {
    let sum = Atomic<Int>(0)
    let count = Atomic<Int>(0)
    let isElsewhere = Atomic<Bool>(false)
  }
}
