import Glibc
import QtShell
import RunLoopKit

qt_start()
// From now on Qt's event loop serves RunLoop.main, and with it the main actor.
let host = try QtHost(of: .main)

Task {  // of the main actor
  for number in 1...3 {
    try await Task.sleep(for: .milliseconds(10))
    qt_set_text("\(number)")
    let text = qt_copy_text()!
    print("the label shows \(String(cString: text))")
    free(text)
  }
  RunLoop.main.stop()  // the host ends Qt's event loop
}
qt_run()
print("over")
