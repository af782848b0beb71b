// swift-tools-version: 6.1
import PackageDescription

/// A loop with other packages and libraries: of each the tests, and the program of docs/guide/packages.md. RLK_PARTS: the
/// names of those that are wanted, with a space between them; without it, all.

/// Flags for checks only.
let strict: [SwiftSetting] =
  Context.environment["RLK_STRICT"] == nil ? [] : [.unsafeFlags(["-warnings-as-errors"])]

struct Part {
  let name: String
  /// Of RunLoopKit, whose product is called `RunLoop` and this.
  var trait: String?
  var packages: [Package.Dependency] = []
  /// What the sample needs besides the kit and the product.
  let sample: [Target.Dependency]
  /// The name of the tests, and what they need besides.
  var tests: (name: String, needs: [Target.Dependency])?
  /// What tests need in C.
  var others: [Target] = []

  var targets: [Target] {
    let names = ["RunLoopKit", "RunLoopTesting"] + (trait.map { ["RunLoop\($0)"] } ?? [])
    let kit = names.map { Target.Dependency.product(name: $0, package: "RunLoopKit") }
    let program = Target.executableTarget(
      name: "\(name)-sample", dependencies: kit + sample, path: "Samples/\(name)", swiftSettings: strict)
    guard let tests else { return [program] }
    return [program, .testTarget(name: tests.name, dependencies: kit + tests.needs, swiftSettings: strict)] + others
  }
}

let algorithms = Target.Dependency.product(name: "AsyncAlgorithms", package: "swift-async-algorithms")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let lifecycleTests = Target.Dependency.product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let inMemoryLogging = Target.Dependency.product(name: "InMemoryLogging", package: "swift-log")
let coreMetrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let metricsTests = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
let nio: [Target.Dependency] = [
  .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
]
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let glib = Target.Dependency.product(name: "CGLib", package: "RunLoopKit")

let swiftLog = Package.Dependency.package(url: "https://github.com/apple/swift-log.git", from: "1.14.0")

let parts = [
  Part(
    name: "algorithms",
    packages: [.package(url: "https://github.com/apple/swift-async-algorithms.git", from: "1.0.0")],
    sample: [algorithms], tests: ("AlgorithmsTests", [algorithms])),
  Part(
    name: "combine", packages: [.package(url: "https://github.com/OpenCombine/OpenCombine.git", from: "0.14.0")],
    sample: [.product(name: "OpenCombine", package: "OpenCombine")]),
  Part(name: "foundation", trait: "Foundation", sample: [], tests: ("RunLoopFoundationTests", ["HostTestSupport"])),
  Part(
    name: "glib", trait: "GLib", sample: [glib],
    tests: ("RunLoopGLibTests", [glib, "CLeftDispatch", "HostTestSupport"]),
    others: [.target(name: "CLeftDispatch", dependencies: [glib], path: "Tests/CLeftDispatch")]),
  Part(name: "logging", packages: [swiftLog], sample: [logging, inMemoryLogging]),
  Part(
    name: "metrics", trait: "Metrics",
    packages: [.package(url: "https://github.com/apple/swift-metrics.git", from: "2.7.0")],
    sample: [coreMetrics, metricsTests], tests: ("RunLoopMetricsTests", [metrics, metricsTests])),
  Part(
    name: "nio", trait: "NIO", packages: [.package(url: "https://github.com/apple/swift-nio.git", from: "2.80.0")],
    sample: nio, tests: ("RunLoopNIOTests", nio + [nioEmbedded, "CRefusedCalls", "HostTestSupport"]),
    others: [.target(name: "CRefusedCalls", path: "Tests/CRefusedCalls")]),
  Part(
    name: "service", trait: "Service",
    packages: [
      .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"), swiftLog,
    ],
    sample: [lifecycle, logging], tests: ("RunLoopServiceTests", [lifecycle, lifecycleTests, logging])),
]

let names = Context.environment["RLK_PARTS"]?.split(separator: " ").map(String.init)
let wanted = parts.filter { names?.contains($0.name) ?? true }
let traits = Set(wanted.compactMap { $0.trait }.map { Package.Dependency.Trait.trait(name: $0) })
let packages = wanted.flatMap { $0.packages }.reduce(into: [Package.Dependency]()) { kept, next in
  if !kept.contains(where: { $0 === next }) { kept.append(next) }
}

let package = Package(
  name: "Integrations",
  dependencies: [.package(name: "RunLoopKit", path: "..", traits: traits)] + packages,
  // Threads and logs for the tests of hosts.
  targets: wanted.flatMap { $0.targets } + [.target(name: "HostTestSupport", path: "Tests/Support")],
  swiftLanguageModes: [.v6]
)
