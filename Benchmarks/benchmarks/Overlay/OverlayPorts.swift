import CMeasure
import Glibc
import RunLoopKit

extension Overlay {
  private struct PortTrip {
    var sentAt: UInt64 = 0
    var sampled = 0
    let wanted: Int
    let samples: UnsafeMutablePointer<UInt32>
  }

  /// Two ports; each message is made anew, from bytes that are copied into it.
  static let portRoundTrip: Body = { args, result in
    let count = Int(args.count)
    let samples = UnsafeMutablePointer<UInt32>(OpaquePointer(calloc(count, 4)))!
    let shared = Shared(PortTrip(wanted: count, samples: samples))
    let far = Shared<RunLoop.Port.SendRight?>(nil)
    let text = [UInt8](repeating: 101, count: Int(args.size))
    let (gate, placement) = (Semaphore(), args.placement)
    bench_pin(placement, 0)
    let loop = RunLoop.current
    let near = RunLoop.Port { _, message in
      let now = bench_now()
      shared.state.pointee.samples[shared.state.pointee.sampled] = UInt32(
        truncatingIfNeeded: now - shared.state.pointee.sentAt)
      shared.state.pointee.sampled += 1
      if shared.state.pointee.sampled == shared.state.pointee.wanted { return loop.stop() }
      shared.state.pointee.sentAt = now
      send(text, to: far.state.pointee!)
    }
    try loop.add(near)
    let back = near.sendRight
    let thread = LoopThread {
      bench_pin(placement, 1)
      let farLoop = RunLoop.current
      let port = RunLoop.Port { port, message in
        if message.id == 1 { return farLoop.stop() }
        message.bytes!.withUnsafeBytes { try? back.send(RunLoop.Message(bytes: RunLoop.Message.Bytes(copying: $0))) }
      }
      far.state.pointee = port.sendRight
      do { try farLoop.add(port) } catch { fatalError("\(error)") }
      gate.open()
      _ = try? farLoop.run()
    }
    gate.pass()

    bench_begin(&result)
    shared.state.pointee.sentAt = bench_now()
    send(text, to: far.state.pointee!)
    try loop.run()
    bench_end(&result)

    try far.state.pointee!.send(RunLoop.Message(id: 1))
    thread.join()
    result.operations = UInt64(count)
    result.samples = samples
    result.sample_count = shared.state.pointee.sampled
  }

  @inline(__always)
  private static func send(_ text: [UInt8], to right: RunLoop.Port.SendRight) {
    do { try right.send(RunLoop.Message(bytes: RunLoop.Message.Bytes(text))) } catch { fatalError("\(error)") }
  }
}
