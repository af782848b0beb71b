// Signals, a child process, a folder and a pipe as items of one run loop. Checks what it prints: exits with 1 if anything
// does not happen, or not in the order that it says.
import ExampleSupport
import Glibc
import RunLoopEvents
import RunLoopKit

StandardOutput.watch()
func check(_ condition: Bool, _ text: String) {
  guard !condition else { return }
  print("WRONG: \(text)")
  Ending.fail(text)
}

func makeFolder() -> String {
  var template = Array("/tmp/runloopkit-events-XXXXXX".utf8CString)
  Ending.ifFailed("mkdtemp", mkdtemp(&template) == nil ? -1 : 0)
  return String(decoding: template.dropLast().map(UInt8.init), as: UTF8.self)
}

/// Everything runs on this thread, so the closures may use its variables: `assumeOnLoop`.
func run() throws {
  var story: [String] = []
  func tell(_ line: String) {
    print(line)
    story.append(line)
  }

  let folder = makeFolder()
  defer { rmdir(folder) }
  var ends: [Int32] = [-1, -1]
  Ending.ifFailed("pipe", pipe(&ends))
  let writing = ends[1]
  let loop = RunLoop.current

  /// The program starts with an empty signal mask, whatever this process blocks.
  func startChild() {
    do {
      let child = try RunLoop.ChildSource.spawn("/bin/sh", arguments: ["-c", "exit 3"])
      try loop.assumeOnLoop { local in
        try local.childSource(processID: child) { _, status in
          tell("the child \(status)")
          _ = write(writing, "done", 4)
          close(writing)
        }
      }
    } catch {
      check(false, "\(error)")
    }
  }

  try loop.assumeOnLoop { local in
    try local.signalSource(.hangup, .terminate) { _, info in
      if info.signal == .terminate {
        tell("told to end")
        return loop.stop()
      }
      tell("told to read the configuration again by process \(info.processID)")
      close(Ending.ifFailed("open", open(folder + "/report", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)))
    }

    try local.fileWatch(path: folder, events: .created) { watch, event in
      tell("the folder has a new file: \(event.name ?? "?")")
      watch.invalidate()
      unlink(folder + "/report")
      startChild()
    }

    do {
      try local.memoryPressure(.full, longerThan: .seconds(1), within: .seconds(2)) { _, _ in print("memory is short") }
    } catch {
      print("no news of memory pressure: \(error)")
    }

    // Its end of the pipe is the source's own from here on.
    try local.fileDescriptorSource(fileDescriptor: ends[0], interest: .readable, ownership: .closesWhenInvalidated) {
      source, _ in
      var bytes = [UInt8](repeating: 0, count: 64)
      let count = read(source.fileDescriptor, &bytes, bytes.count)
      tell("the pipe says: \(String(decoding: bytes[..<max(count, 0)], as: UTF8.self))")
      source.invalidate()
      kill(getpid(), SIGTERM)
    }
  }

  kill(getpid(), SIGHUP)
  let result = try loop.run(for: .seconds(60))
  check(result == .stopped, "the run has \(result)")
  check(fcntl(ends[0], F_GETFD) < 0, "the source's descriptor is still open")
  let expected = [
    "told to read the configuration again by process \(getpid())",
    "the folder has a new file: report",
    "the child exited with code 3",
    "the pipe says: done",
    "told to end",
  ]
  check(story == expected, "expected \(expected)")
}

Ending.ofErrors {
  // Before any thread exists: what signal sources receive must be blocked in every thread.
  try RunLoop.Signal.block(.hangup, .terminate)
  try run()
}
