import Glibc
import Logging
import RunLoopKit
import RunLoopLogging

let logger = Logger(label: "loop") { StreamLogHandler.standardError(label: $0) }
let loop = RunLoop.current
loop.logSlowCallouts(longerThan: .milliseconds(100), to: logger)
loop.collectsStatistics = true

try loop.perform { usleep(150_000) }
try loop.run(for: .zero)
logger.info("so far", metadata: loop.statistics.logMetadata)
