internal import RunLoopLibc

package enum StandardError {
  /// A failure to write to standard error is ignored: there is nowhere to report it.
  package static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = RunLoopLibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
  }
}
