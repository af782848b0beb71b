internal import RunLoopLibc

package enum StandardError {
  /// Of a standard error that takes nothing there is nobody to tell.
  package static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = RunLoopLibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
  }
}
