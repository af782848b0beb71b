import ArgumentParser
import CMeasure
import Measuring
import RunLoopKit
import RunLoopPorts

/// The other process of a measurement between two; for `measure`, which ends it.
struct Far: ParsableCommand {
  static let configuration = CommandConfiguration(shouldDisplay: false)

  @Argument var workload: String
  @Argument var name: String
  @Option var placement: Int64 = 0

  func run() throws {
    guard let answer = Overlay.answers[workload] else { throw Failure("no workload \(workload)") }
    let (name, placement) = (name, placement)
    bench_serve()
    LoopThread {
      bench_pin(placement, 1)
      do {
        let port = try RunLoop.Port(
          registeredAs: name,
          replying: { port, message in
            if message.id == OtherProcess.end { port.invalidate() }
            return message.bytes.map { RunLoop.Message(bytes: answer($0)) }
          })
        try RunLoop.current.add(port)
        try RunLoop.current.run()
      } catch {
        Progress().note("far: \(error)")
      }
    }.join()
  }
}
