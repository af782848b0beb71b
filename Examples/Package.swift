// swift-tools-version: 6.1
import PackageDescription

/// The examples and their tests, as a package that depends on RunLoopKit: whoever else does meets none of these names.

/// Flags for checks only.
let strict: [SwiftSetting] =
  Context.environment["RLK_STRICT"] == nil ? [] : [.unsafeFlags(["-warnings-as-errors"])]

/// Products whose names are not their package's must name it.
let events = Target.Dependency.product(name: "RunLoopEvents", package: "RunLoopKit")
let ports = Target.Dependency.product(name: "RunLoopPorts", package: "RunLoopKit")

/// A program in the folder of its name.
func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, path: name, swiftSettings: strict)
}

let package = Package(
  name: "Examples",
  dependencies: [.package(name: "RunLoopKit", path: "..")],
  targets: [
    .target(name: "ExampleSupport", path: "support", swiftSettings: strict),
    program("chat", ["RunLoopKit", events, "ExampleSupport"]),
    program("demo", ["RunLoopKit", "ExampleSupport"]),
    program("kvd", ["RunLoopKit", events]),
    program("supervisor", ["RunLoopKit", events, ports, "ExampleSupport"]),
    program("worker", ["RunLoopKit", "ExampleSupport"]),
    .testTarget(name: "ExampleTests", dependencies: ["demo", "supervisor", "worker"]),
    .testTarget(name: "ChatTests", dependencies: ["chat", "TestSupport"]),
    .testTarget(name: "KvdTests", dependencies: ["kvd", "TestSupport"]),
    .target(name: "TestSupport", path: "Tests/Support"),
  ],
  swiftLanguageModes: [.v6]
)
