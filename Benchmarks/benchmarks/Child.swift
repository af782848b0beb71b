import CMeasure
import Glibc

/// Programs that are run and listened to.
enum Child {
  /// The path of this program, which valgrind must be told: under it /proc/self/exe is valgrind.
  static let program: String = {
    var buffer = [CChar](repeating: 0, count: 4096)
    let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    guard length > 0 else { return CommandLine.arguments[0] }
    return String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }()

  static func run(_ command: [String], timeout: UInt32) -> (status: Int32, output: String) {
    var arguments = command.map { strdup($0) }
    arguments.append(nil)
    defer { for argument in arguments { free(argument) } }
    var output = [CChar](repeating: 0, count: 16384)
    let status = bench_run_child(&arguments, timeout, &output, output.count)
    let bytes = output.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return (status, String(decoding: bytes, as: UTF8.self))
  }
}
