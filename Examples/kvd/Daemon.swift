import Glibc
import RunLoopEvents
import RunLoopKit

/// Puts the parts together on the main thread's loop, and runs it.
final class Daemon {
  private let loop = RunLoop.current
  private let options: Options.Serve
  private let lock: File
  private var configuration: Configuration
  private let store: Store
  private let commit: GroupCommit
  private let compaction: Compaction
  private var server: Server!
  private var signals: RunLoop.SignalSource?
  private var deadline: RunLoop.Timer?

  init(_ options: Options.Serve) throws {
    self.options = options
    // Nobody here posts to the main queue, and to ask it is a system call in each pass.
    loop.servesMainQueue = false
    signal(SIGPIPE, SIG_IGN)
    // A full quota is an error of write(2), not the end.
    signal(SIGXFSZ, SIG_IGN)
    Self.raiseDescriptorLimit()
    lock = try Self.takeDirectory(options.directory)
    configuration = try Configuration.read(from: options.directory)
    store = try Store(in: options.directory)
    commit = try GroupCommit(store, on: loop)
    compaction = Compaction(store, in: options.directory, on: loop)
    server = try Server(
      options, on: loop, configuration: { [unowned self] in configuration },
      answer: { [unowned self] in answer($0, &$1) })
    signals = try loop.assumeOnLoop { local in
      try local.signalSource(.terminate, .interrupt, .hangup) { [unowned self] _, info in
        info.signal == .hangup ? readConfiguration() : drain()
      }
    }
    commit.onCommit = { [unowned self] isStored in
      server.release(isStored: isStored)
      compaction.startIfUseful(threshold: configuration.compactThreshold)
    }
    server.onDrained = { [unowned self] in loop.stop() }
  }

  /// Returns when the daemon was told to end and its clients have their answers.
  func run() throws {
    try Report.say("listening \(server.port)")
    try loop.run()
    // The last clients may have gone without waiting for their answers.
    commit.commit()
    compaction.abandon()
  }

  private func answer(_ request: Request, _ answers: inout Answers) {
    switch request {
    case .ping: answers.append("PONG")
    case .mistake(let reason): answers.append("ERROR ", Array(reason.utf8))
    case .foreign: answers.append("ERROR another protocol: closed")
    case .get(let key):
      switch store.get(key) {
      case .none: answers.append("NONE")
      case .value(let value): answers.append("VALUE ", value.array)
      case .staged(let value): answers.append("VALUE ", value.array, untilCommit: true)
      }
    case .set(let key, let value):
      store.set(key, value)
      answers.append("OK", untilCommit: true)
      commit.isNeeded()
    }
  }

  private func readConfiguration() {
    do {
      configuration = try Configuration.read(from: options.directory)
      server.configurationChanged()
      Report.note("configuration read")
    } catch {
      Report.note("\(error)")
      Report.note("the configuration stays as it was")
    }
  }

  /// The second time it does not wait any longer.
  private func drain() {
    guard deadline == nil else { return loop.stop() }
    Report.note("ending")
    server.drain()
    do {
      deadline = try loop.assumeOnLoop { local in
        try local.timer(after: configuration.drainTimeout) { [unowned self] _ in
          commit.commit()
          server.dropAll()
        }
      }
    } catch {
      loop.stop()
    }
  }

  /// What is on the disk is not known: nothing that is answered from here on could be trusted.
  static func exitAtOnce() -> Never { _exit(1) }

  /// One daemon for a directory: held until the process ends, however it ends. The lock is the process's own: one of flock(2)
  /// would be its children's too until they have begun their program, and outlive a daemon that is killed meanwhile. It goes
  /// with any descriptor of the file that the process closes, so nobody else opens it.
  static func takeDirectory(_ directory: String) throws -> File {
    let lock = try File(directory + "/kvd.lock", O_RDWR | O_CREAT)
    var whole = flock()
    whole.l_type = Int16(F_WRLCK)
    guard fcntl(lock.descriptor, F_SETLK, &whole) == 0 else {
      throw errno == EAGAIN || errno == EACCES
        ? Failure("\(directory) is another daemon's") : Failure.system("\(lock.path): fcntl")
    }
    return lock
  }

  /// A client is a descriptor.
  private static func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
