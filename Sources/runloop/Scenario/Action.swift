/// One action, and its line in the file.
struct Statement: Sendable {
  let line: Int
  let action: Action
}

/// The actions of section 6 of docs/scenario-language.md. They refer to items by index and to threads by name; times
/// are in milliseconds.
enum Action: Sendable {
  case add(item: Int, ModeName, LoopName)
  case remove(item: Int, ModeName, LoopName)
  case invalidate(item: Int)
  case create(item: Int)
  case drop(item: Int)
  case signal(item: Int)
  case wake(LoopName)
  case stop(LoopName)
  case addCommon(ModeName, LoopName)
  case perform(item: Int, [ModeName], LoopName)
  case performAsSource(item: Int, [ModeName], LoopName, waits: Bool)
  case async(item: Int)
  case write(item: Int, count: Int)
  case setFireDate(item: Int, Double)
  case setTolerance(item: Int, Double)
  case run(RunRequest)
  case runForever
  case sleep(Double)
  case busy(Double)
  case note(String)
  case mark
  case spawn(thread: String)
  case join(thread: String)
  case `repeat`(Int, [Statement])
  case until(item: Int, Int, [Statement])
  case query(Query)
}

/// The loop that `loop=` names; without it, the executing thread's.
enum LoopName: Sendable {
  case own
  case main
  case thread(String)
}

/// `run MODE SECONDS HANDLED [stamp] [quiet]`
struct RunRequest: Sendable {
  let mode: ModeName
  /// May be negative, huge or not a number.
  let seconds: Double
  let returnAfterSourceHandled: Bool
  let isStamped: Bool
  let isQuiet: Bool
}

/// The queries. Each of them prints one line.
enum Query: Sendable {
  case contains(item: Int, ModeName, LoopName)
  case isValid(item: Int)
  case isSignalled(item: Int)
  case order(item: Int)
  case activities(item: Int)
  case repeats(item: Int)
  case interval(item: Int)
  case tolerance(item: Int)
  case fireIn(item: Int)
  case nextFire(ModeName, LoopName)
  case modes(LoopName)
  case mode(LoopName)
  case isWaiting(LoopName)
  case isFinished(ModeName, LoopName)
  case isMain
  case isSameLoop(thread: String)
  case isPending(item: Int)
  case count(item: Int)
}
