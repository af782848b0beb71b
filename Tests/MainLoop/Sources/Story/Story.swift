import RunLoopKit

/// What every one of the programs tells, to the letter.
public enum Story {
  /// The runs whose ends could depend on what the program is linked with.
  public static func tell() throws {
    let loop = RunLoop.current
    try loop.add(RunLoop.Timer(fireDate: .now) { _ in print("the last member fires") })
    print("default:", try loop.run(in: .default, for: .milliseconds(50)))
    print("tracking:", try loop.run(in: .tracking, for: .milliseconds(50)))
    loop.addCommonMode("made common")
    print("made common:", try loop.run(in: "made common", for: .milliseconds(50)))
    print("not common:", try loop.run(in: "not common", for: .milliseconds(50)))
    try loop.add(
      RunLoop.Timer(fireDate: .now) { _ in
        print("stops the endless run")
        loop.stop()
      })
    print("endless:", try loop.run())
    loop.servesMainQueue = false
    try loop.add(RunLoop.Timer(fireDate: .now) { _ in print("the last member fires") })
    print("switched off:", try loop.run())
    loop.servesMainQueue = true
  }

  /// Runs until what was given to the main queue has stopped the loop.
  public static func runQueue() throws {
    let result = try RunLoop.current.run(in: .tracking, for: .seconds(30))
    precondition(result == .stopped, "the main queue was not served: \(result)")
  }
}
