package import CRunLoopKit
internal import RunLoopKit

// The function of <runloopkit/diagnostics.h>, where its contract stands.

@c @implementation
package func rlk_set_diagnostics(_ given: UnsafePointer<rlk_diagnostics>!) -> Int32 {
  guard let pointer = given else {
    RunLoop.diagnostics = RunLoop.Diagnostics()
    return 0
  }
  guard let given = options(pointer), given.reserved == 0, given.level.rawValue <= RLK_DIAGNOSTIC_NONE.rawValue else {
    return Status.invalid
  }
  var diagnostics = RunLoop.Diagnostics(level: given.level.asLevel)
  if let tell = given.tell {
    let held = Held(tell, given.context, given.release)
    diagnostics.handler = { level, text in
      held.call { $0(level == .hint ? RLK_DIAGNOSTIC_HINT : RLK_DIAGNOSTIC_WARNING, text, $1) }
    }
  }
  RunLoop.diagnostics = diagnostics
  if given.tell == nil, let release = given.release { release(given.context) }
  return 0
}

extension rlk_diagnostic_level {
  fileprivate var asLevel: RunLoop.Diagnostics.Level? {
    switch self {
    case RLK_DIAGNOSTIC_WARNING: .warning
    case RLK_DIAGNOSTIC_HINT: .hint
    default: nil
    }
  }
}
