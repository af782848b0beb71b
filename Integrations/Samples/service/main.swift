import Glibc
import Logging
import RunLoopKit
import RunLoopService
import ServiceLifecycle

let writer = RunLoopService(name: "writer") { loop in
  try loop.perform {
    try? loop.perform { print("what is due at the shutdown is done") }
    kill(getpid(), SIGTERM)
  }
}
let group = ServiceGroup(
  services: [writer], gracefulShutdownSignals: [.sigterm],
  logger: Logger(label: "services") { _ in SwiftLogNoOpLogHandler() })
try RunLoop.main.run { try await group.run() }
print("over")
