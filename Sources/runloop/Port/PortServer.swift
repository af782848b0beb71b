import RunLoopEvents
import RunLoopKit
import RunLoopPorts
import Synchronization

/// `runloop port serve`
enum PortServer {
  /// Serves until it has answered `count` messages, a signal ends it, or it cannot print.
  static func run(_ name: String, count: Int?) throws {
    // No other thread exists yet: later ones inherit the blocked signals.
    try RunLoop.Signal.block(.interrupt, .terminate)
    let loop = RunLoop.current
    let served = Atomic<Int>(0)
    let port = try RunLoop.Port(
      registeredAs: name,
      onRefusal: { Output.complain("runloop port: a connection was refused: \($0.reason)") },
      replying: { _, message in
        Output.write(message.line + "\n")
        if Output.hasFailed { loop.stop() }  // the next messages could not be printed
        if served.add(1, ordering: .relaxed).newValue == count { loop.stop() }
        return message.echo
      })
    defer { port.invalidate() }
    let signals = try RunLoop.SignalSource(.interrupt, .terminate) { _, _ in loop.stop() }
    try loop.add(port, to: .common)
    try loop.add(signals, to: .common)
    Output.write("serving \(name)\n")
    if !Output.hasFailed { try loop.run() }
    let total = served.load(ordering: .relaxed)
    Output.write("served \(total) message\(total == 1 ? "" : "s")\n")
  }
}

extension RunLoop.Message {
  /// A message with the same id and bytes, without the descriptors. These are closed when the message is released.
  fileprivate var echo: RunLoop.Message {
    let bytes = components.filter { if case .bytes = $0 { true } else { false } }
    return RunLoop.Message(id: id, bytes)
  }
}
