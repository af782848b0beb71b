import QtShell
import RunLoopKit

/// Serves a run loop in Qt's event loop, for the rest of the process. A run of the loop inside a callout sleeps by
/// itself: Qt's windows stand still meanwhile.
final class QtHost {
  private let hosting: LoopHosting

  /// Call it on the main thread, after `qt_start`.
  init(of loop: RunLoop) throws {
    hosting = try LoopHosting(of: loop, onStop: { qt_quit() }, onFailure: { print("the run loop has left Qt: \($0)") })
    qt_serve(
      qt_guest(
        context: Unmanaged.passRetained(self).toOpaque(),
        descriptor: hosting.descriptor.fileDescriptor,
        prepare: { QtHost.from($0).prepare() },
        serve: { QtHost.from($0).hosting.serve() }))
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> QtHost {
    Unmanaged.fromOpaque(context!).takeUnretainedValue()
  }

  private func prepare() -> Int32 {
    switch hosting.prepare() {
    case .hasWork: 1
    case .mayWait: 0
    case .isBusy, .isOver: -1
    }
  }
}
