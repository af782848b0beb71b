import Glibc
import RunLoopKit
import Synchronization

/// What the functions of a sample's surroundings were called for, in order.
final class Story: Sendable {
  private let lines = Mutex<[String]>([])

  func tell(_ line: String) { lines.withLock { $0.append(line) } }
  var all: [String] { lines.withLock { $0 } }
}

func require(_ condition: Bool, file: StaticString = #file, line: UInt = #line) {
  guard !condition else { return }
  print("\(file):\(line): not so")
  exit(1)
}

/// A pipe that has something to read: its ends.
func readyPipe() -> (reading: Int32, writing: Int32) {
  var ends: [Int32] = [-1, -1]
  require(pipe(&ends) == 0)
  require(write(ends[1], "x", 1) == 1)
  return (ends[0], ends[1])
}
