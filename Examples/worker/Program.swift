import ExampleSupport
import Glibc
import RunLoopKit

/// An actor on a thread of its own, for what must be called on one thread. Each line is checked before it is printed.
@main enum Program {
  static func main() {
    StandardOutput.watch()
    Ending.ofErrors {
      let thread = RunLoop.Thread(name: "ledger")
      try RunLoop.main.run { try await tell(of: thread) }
      print("all as it should be")
    }
  }

  private static func tell(of thread: RunLoop.Thread) async throws {
    try await thread.start()
    let ledger = Ledger(on: thread.loop!)

    // Sixty-four tasks, on whatever threads there are; the ledger is on one.
    await withDiscardingTaskGroup { group in
      for account in 0..<64 { group.addTask { for _ in 1...100 { await ledger.book(1, to: account) } } }
    }
    expect(await ledger.total == 6400, "64 tasks have booked 100 times each, and nothing was lost")
    expect(await ledger.threads == ["ledger"], "all on the ledger's thread")

    let closings = try await ledger.close(after: 3)
    expect(closings == [6400, 6400, 6400], "a timer of its loop is on the actor already")

    thread.stop()
    try await thread.join()
    await ledger.book(1, to: 0)
    expect(await ledger.total == 6401, "after its thread's end it still answers")
    expect(await ledger.threads == ["ledger", "rl-ended-loops"], "on the thread for loops that have ended")
    let error = await ledger.errorOfAnotherTimer()
    expect(error == .loopEnded, "what it calls on the loop says that the loop has ended")
  }

  /// Ends the program where what was said is not so.
  static func expect(_ condition: Bool, _ text: String) {
    print("\(condition ? "yes" : "NO ") \(text)")
    if !condition { Ending.fail("NO \(text)") }
  }
}
