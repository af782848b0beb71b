import CoreMetrics
import MetricsTestKit
import RunLoopKit
import RunLoopMetrics

let test = TestMetrics()
MetricsSystem.bootstrap(test)  // that of a program would serve Prometheus, or StatsD

let loop = RunLoop.current
let metrics = RunLoopMetrics(of: loop, dimensions: [("loop", "main")])
try loop.add(metrics.timer(every: .seconds(10)))  // again and again

for _ in 1...3 { try loop.perform {} }
try loop.run(for: .milliseconds(10))
metrics.export()  // now
print("blocks performed: \(test.counterTotal(label: "run_loop_blocks_performed", dimensions: [("loop", "main")]))")
