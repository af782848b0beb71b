// swift-tools-version: 6.1
import PackageDescription

/// The tests and the samples of what connects RunLoopKit with other packages. Each library is a package of its own, in
/// the folder of its name: SwiftPM resolves for a dependent what any product of a package needs.

/// Flags for checks only.
let strict: [SwiftSetting] =
  Context.environment["RLK_STRICT"] == nil ? [] : [.unsafeFlags(["-warnings-as-errors"])]

/// A library of a folder here.
func own(_ name: String) -> Target.Dependency { .product(name: name, package: name) }

let algorithms = Target.Dependency.product(name: "AsyncAlgorithms", package: "swift-async-algorithms")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let lifecycleTests = Target.Dependency.product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let inMemoryLogging = Target.Dependency.product(name: "InMemoryLogging", package: "swift-log")
let combine = Target.Dependency.product(name: "OpenCombine", package: "OpenCombine")
let coreMetrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let metricsTests = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
let testing = Target.Dependency.product(name: "RunLoopTesting", package: "RunLoopKit")

/// A program of docs/guide/packages.md, in the folder of its name.
func sample(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: "\(name)-sample", dependencies: ["RunLoopKit"] + dependencies, path: "Samples/\(name)",
    swiftSettings: strict)
}

/// The tests of a library.
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: "\(name)Tests", dependencies: ["RunLoopKit", testing] + dependencies, swiftSettings: strict)
}

let package = Package(
  name: "Integrations",
  dependencies: [
    .package(name: "RunLoopKit", path: ".."),
    .package(path: "RunLoopMetrics"),
    .package(path: "RunLoopService"),
    .package(url: "https://github.com/apple/swift-async-algorithms.git", from: "1.0.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
    .package(url: "https://github.com/OpenCombine/OpenCombine.git", from: "0.14.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.14.0"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.7.0"),
  ],
  targets: [
    sample("algorithms", [algorithms, testing]),
    sample("combine", [combine, testing]),
    sample("logging", [logging, inMemoryLogging, testing]),
    sample("metrics", [own("RunLoopMetrics"), coreMetrics, metricsTests]),
    sample("service", [own("RunLoopService"), lifecycle, logging]),
    tests("Algorithms", [algorithms]),
    tests("RunLoopMetrics", [own("RunLoopMetrics"), metrics, metricsTests]),
    tests("RunLoopService", [own("RunLoopService"), lifecycle, lifecycleTests, logging]),
  ],
  swiftLanguageModes: [.v6]
)
