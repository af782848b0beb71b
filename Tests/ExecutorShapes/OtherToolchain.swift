import RunLoopKit
import RunLoopMainExecutor

/// With a compiler whose interface of custom main executors is not known: the module can be imported, and this is refused.
@MainActor func use() throws {
  try RunLoop.MainActorExecutor.install()
  try RunLoop.MainActorExecutor.install(hostedBy: {})
}
