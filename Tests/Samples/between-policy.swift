import RunLoopKit
import RunLoopPorts

func betweenPolicy() throws {
  // SAMPLE: between-policy
  let port = try RunLoop.Port(registeredAs: "samples.between-policy", accepting: policy) { _, _ in }
  port.invalidate()
}
