import CFailingLibc
import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit

import class RunLoopKit.RunLoop

/// The call that fails. `number`: which of its name, from 0 on; -1: each of them.
struct Plan {
  let call: String
  let number: Int
  let error: Int32
}

/// What has become of one attempt.
struct Report {
  enum Result: Equatable, CustomStringConvertible {
    case works
    case threw(call: String?, errno: Int32?, text: String)
    /// The process that tried has ended.
    case ended(status: Int32)

    var description: String {
      switch self {
      case .works: "works"
      case .threw(_, _, let text): text
      case .ended(let status): "THE PROCESS HAS ENDED, status \(status)"
      }
    }
  }

  var result = Result.works
  var hasFailed = false
  var calls: [String] = []
  /// The same, tried again without a failure.
  var again = Result.works
  var descriptors = 0
  var files: [String] = []
}

/// One attempt in a process of its own, which has used nothing of the library before.
enum Attempt {
  /// - Parameter limit: Called in that process before the operation, when all is set up for it; ended by `unlimit`.
  /// - Parameter await: Called there after the operation, while the plan still holds.
  static func run(
    _ operation: Operation, _ plan: Plan?, limit: (() -> Void)? = nil, await: (() -> Void)? = nil,
    unlimit: (() -> Void)? = nil
  ) -> Report {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0)
    let process = test_fork()
    if process == 0 {
      alarm(20)  // what hangs is ended
      close(ends[0])
      let writing = fcntl(ends[1], F_DUPFD_CLOEXEC, 900)
      close(ends[1])
      let report = Session(operation).run(Conditions(plan: plan, limit: limit, await: `await`, unlimit: unlimit))
      report.send(to: writing)
      _exit(0)
    }
    close(ends[1])
    var report = Report.receive(from: ends[0])
    close(ends[0])
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    if status != 0 { report.result = .ended(status: status) }
    return report
  }
}

/// In the process that tries.
final class Session: @unchecked Sendable {
  private let operation: Operation
  private let folder: String

  init(_ operation: Operation) {
    self.operation = operation
    var template = Array("/tmp/error-texts-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil)
    folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    setenv("XDG_RUNTIME_DIR", folder, 1)
    // What the library says itself.
    let file = open(folder + "/said", O_CREAT | O_RDWR | O_CLOEXEC | O_APPEND, 0o600)
    unlink(folder + "/said")
    dup2(file, STDERR_FILENO)
    close(file)
  }

  func run(_ conditions: Conditions) -> Report {
    var report = Report()
    report.result = attempt(conditions)
    report.hasFailed = failing_libc_end() != 0
    report.calls = (0..<failing_libc_count()).map { String(cString: failing_libc_name($0)) }
    report.again = attempt(Conditions())
    report.descriptors = openDescriptors
    report.files = files(folder + "/runloopkit")
    rmdir(folder + "/runloopkit")
    rmdir(folder)
    return report
  }

  /// On a thread of its own, with a loop of its own, which are over afterwards.
  private func attempt(_ conditions: Conditions) -> Report.Result {
    let work = Work { [operation, folder] in
      var table = rlc_kernel_copy()
      table.reallocate = { failing_libc_reallocate($0, $1, $2) }
      Kernel(table).enter()
      let trial = Trial(folder, conditions)
      do {
        try operation.body(trial)
        return .works
      } catch let error as RunLoopError {
        return .threw(call: error.call, errno: error.errno, text: Words.plain(error.description, folder))
      } catch {
        return .threw(call: nil, errno: nil, text: Words.plain("\(error)", folder))
      }
    }
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { argument in
        let work = Unmanaged<Work>.fromOpaque(argument!).takeUnretainedValue()
        work.result = work.body()
        return nil
      }, Unmanaged.passUnretained(work).toOpaque())
    precondition(status == 0)
    pthread_join(thread, nil)
    return work.result
  }

  private var openDescriptors: Int { files("/proc/self/fd").count }

  private func files(_ path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }
}

private final class Work: @unchecked Sendable {
  let body: () -> Report.Result
  var result = Report.Result.works
  init(_ body: @escaping () -> Report.Result) { self.body = body }
}

/// Under which an operation is tried: see `Attempt.run`.
struct Conditions {
  var plan: Plan?
  var limit: (() -> Void)?
  var await: (() -> Void)?
  var unlimit: (() -> Void)?
}

/// One run of an operation.
struct Trial {
  /// The runtime folder, which is empty.
  let folder: String
  private let conditions: Conditions

  init(_ folder: String, _ conditions: Conditions) { (self.folder, self.conditions) = (folder, conditions) }

  /// Only in here calls are noted, and fail.
  func during<R>(_ body: () throws -> R) rethrows -> R {
    conditions.limit?()
    let plan = conditions.plan
    failing_libc_begin(plan.map { strdup($0.call) }, Int32(plan?.number ?? 0), plan?.error ?? 0)
    defer {
      conditions.await?()
      _ = failing_libc_end()
      conditions.unlimit?()
    }
    return try body()
  }
}

extension Trial {
  /// What the library has said on standard error; nil: nothing.
  var said: String? {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = pread(STDERR_FILENO, &bytes, bytes.count, 0)
    ftruncate(STDERR_FILENO, 0)
    return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self).replacing("\n", with: "") : nil
  }
}

// MARK: From process to process

extension Report {
  func send(to descriptor: Int32) {
    var text = "\(hasFailed)\n\(calls.joined(separator: ","))\n\(descriptors)\n\(files.joined(separator: ","))\n"
    for result in [result, again] {
      switch result {
      case .works: text += "works\n"
      case .threw(let call, let error, let words): text += "threw\t\(call ?? "")\t\(error ?? 0)\t\(words)\n"
      case .ended: break
      }
    }
    _ = text.withCString { write(descriptor, $0, strlen($0)) }
  }

  static func receive(from descriptor: Int32) -> Report {
    var (bytes, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
    while case let count = read(descriptor, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    var report = Report()
    guard lines.count >= 6 else { return report }
    report.hasFailed = lines[0] == "true"
    report.calls = lines[1].split(separator: ",").map(String.init)
    report.descriptors = Int(lines[2]) ?? 0
    report.files = lines[3].split(separator: ",").map(String.init)
    (report.result, report.again) = (result(lines[4]), result(lines[5]))
    return report
  }

  private static func result(_ line: Substring) -> Result {
    let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4 else { return .works }
    return .threw(call: parts[1].isEmpty ? nil : parts[1], errno: Int32(parts[2]), text: parts[3])
  }
}
