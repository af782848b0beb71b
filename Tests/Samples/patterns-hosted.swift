import Glibc
import RunLoopKit
import Synchronization

private func poll(_ descriptor: Int32) {
  var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  Glibc.poll(&entry, 1, -1)
}

func patternsHosted() throws {
  let loop = RunLoop.current
  let count = Mutex(0)
  let timer = RunLoop.Timer(fireDate: .now, interval: .milliseconds(1)) { _ in
    count.withLock { $0 += 1 }
    if count.withLock({ $0 == 3 }) { exit(0) }
  }
  try loop.add(timer)
  // SAMPLE: patterns-hosted
}
