import ExampleSupport
import Glibc

/// Small programs about loops and threads. Each checks what it prints; the guide is docs/guide/threads.md.
@main enum Threads {
  static func main() {
    StandardOutput.watch()
    Ending.ofErrors {
      try workNowLaterAndWithAnAnswer()
      try stoppedNowOrAfterDueWork()
      try aLoopLivesAsLongAsOperationsAreOpen()
      try workerSignalsItsOwner()
      try anyThreadEditsARunningLoop()
      try anOwnerAndItsEndlessRun()
      try theRecipesOfTheTutorials()
      print("all as it should be")
    }
  }

  /// Ends the program where what was said is not so.
  static func expect(_ condition: Bool, _ text: String) {
    print("\(condition ? "yes" : "NO ") \(text)")
    if !condition { Ending.fail("NO \(text)") }
  }
}
