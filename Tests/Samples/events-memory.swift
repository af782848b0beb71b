import RunLoopEvents
import RunLoopKit

private struct Cache: Sendable { func removeAll() {} }

func eventsMemory() throws {
  let loop = RunLoop.current
  let cache = Cache()
  do {
    // SAMPLE: events-memory
  } catch {
    print("skipped 1: \(error)")
  }
}
