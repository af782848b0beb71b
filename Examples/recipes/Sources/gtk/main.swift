import CGTK
import RunLoopGLib
import RunLoopKit

guard gtk_init_check() != 0 else { fatalError("no display") }
nonisolated(unsafe) let mainLoop = g_main_loop_new(nil, 0)
// From now on GTK's main loop serves RunLoop.main, and with it the main actor.
try GLibHost(of: .main, onStop: { g_main_loop_quit(mainLoop) })

/// A window with one line of text, which counts the frames that GTK draws.
@MainActor final class Window {
  private let window = gtk_window_new()!
  private let label = gtk_label_new("")!
  private(set) var frames = 0

  func open() {
    gtk_window_set_child(OpaquePointer(window).window, label)
    let count: GtkTickCallback = { widget, _, context in
      // GTK calls this on the main thread, which is the main actor's.
      MainActor.assumeIsolated { Unmanaged<Window>.fromOpaque(context!).takeUnretainedValue().frames += 1 }
      gtk_widget_queue_draw(widget)
      return 1  // G_SOURCE_CONTINUE
    }
    gtk_widget_add_tick_callback(label, count, Unmanaged.passUnretained(self).toOpaque(), nil)
    gtk_window_present(OpaquePointer(window).window)
  }

  var text: String {
    get { String(cString: gtk_label_get_text(OpaquePointer(label))) }
    set { gtk_label_set_text(OpaquePointer(label), newValue) }
  }
}

extension OpaquePointer {
  /// What GTK_WINDOW() is in C, without its check.
  var window: UnsafeMutablePointer<GtkWindow> { UnsafeMutablePointer(self) }
}

let window = Window()
window.open()
Task {  // of the main actor
  for number in 1...3 {
    try await Task.sleep(for: .milliseconds(10))
    window.text = "\(number)"
    print("the label shows \(window.text)")
  }
  while window.frames < 3 { try await Task.sleep(for: .milliseconds(1)) }
  print("GTK draws meanwhile")
  RunLoop.main.stop()  // the host ends GTK's loop
}
g_main_loop_run(mainLoop)
print("over")
