public import Logging
public import RunLoopKit

extension RunLoop.Statistics {
  /// Each figure by its name, with its digits; the times in milliseconds.
  public var logMetadata: Logger.Metadata {
    [
      "runs": "\(runs)",
      "passes": "\(passes)",
      "sleeps": "\(sleeps)",
      "spuriousWakes": "\(spuriousWakes)",
      "timersFired": "\(timersFired)",
      "wakesSaved": "\(wakesSaved)",
      "sourcesPerformed": "\(sourcesPerformed)",
      "portCallouts": "\(portCallouts)",
      "mainQueueTurns": "\(mainQueueTurns)",
      "blocksPerformed": "\(blocksPerformed)",
      "busyMilliseconds": "\(busyTime / .milliseconds(1))",
      "sleepMilliseconds": "\(sleepTime / .milliseconds(1))",
    ]
  }
}
