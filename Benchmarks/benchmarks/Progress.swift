import CMeasure
import Glibc

/// One line on the terminal's standard error, rewritten; nothing if it is none. Notes stay.
final class Progress {
  private let columns = Int(bench_terminal_columns())

  func show(_ text: String) {
    guard columns > 0 else { return }
    write("\r\u{1B}[K" + text.prefix(columns - 1))
  }

  func clear() { if columns > 0 { write("\r\u{1B}[K") } }

  func note(_ text: String) {
    clear()
    write("benchmarks: \(text)\n")
  }

  private func write(_ text: String) { text.withCString { _ = Glibc.write(STDERR_FILENO, $0, strlen($0)) } }
}
