import Glibc
import RunLoopEvents
import RunLoopKit

/// Keeps the log from growing for ever: a child writes what counts of it into a file, while the daemon goes on; then what was
/// logged meanwhile is put behind it, and the file takes the log's place.
final class Compaction {
  private let loop: RunLoop
  private let store: Store
  private let directory: String
  private var child: Child?
  /// No log is compacted that is smaller; grows after a failure.
  private var smallest = 0
  private var serial = 0

  init(_ store: Store, in directory: String, on loop: RunLoop) {
    (self.store, self.directory, self.loop) = (store, directory, loop)
    removeRemains()
  }

  /// Call it when the log has grown.
  func startIfUseful(threshold: Int) {
    guard child == nil, store.logSize >= max(threshold, smallest), store.logSize >= 2 * store.liveSize else { return }
    serial += 1
    // No other daemon's child, dead or alive, has this name.
    let name = "kvd.log.compact-\(getpid())-\(RunLoop.Instant.now.nanoseconds)-\(serial)"
    let end = store.logSize
    do {
      child = try Child(
        arguments: ["--compact", name, "--dir", directory, "--until", "\(end)", "--parent", "\(getpid())"], on: loop
      ) { [unowned self] status in
        child = nil
        finish(status, name, end)
      }
      Report.note("compaction of \(end) bytes by process \(child!.processID)")
    } catch {
      fail(name, "\(error)")
    }
  }

  private func finish(_ status: RunLoop.ExitStatus, _ name: String, _ end: Int) {
    guard status.isSuccess else { return fail(name, "its process \(status)") }
    let before = store.logSize
    do {
      try store.replaceLog(with: name, andWhatFollows: end)
      smallest = 0
      Report.note("compacted \(before) bytes to \(store.logSize)")
    } catch let lost as Log.Lost {
      Report.note("\(lost)")
      Daemon.exitAtOnce()
    } catch {
      fail(name, "\(error)")
    }
  }

  /// Nobody waits for the file any more. The next daemon removes what is there of it.
  func abandon() { child?.kill() }

  /// The log is as good as before. The next try comes when it has grown by half.
  private func fail(_ name: String, _ reason: String) {
    unlink(directory + "/" + name)
    unlink(directory + "/" + name + ".partial")
    smallest = store.logSize + store.logSize / 2
    Report.note("compaction failed: \(reason)")
  }

  /// What earlier daemons and their children left behind when they were killed.
  private func removeRemains() {
    guard let listing = opendir(directory) else { return }
    defer { closedir(listing) }
    while let entry = readdir(listing) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasPrefix("kvd.log.compact-") { unlink(directory + "/" + name) }
    }
  }
}
