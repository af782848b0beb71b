// swift-tools-version: 6.1
import PackageDescription

/// What connects RunLoopKit with other packages, as a package that depends on it: whoever depends on RunLoopKit alone
/// resolves none of these.

/// Flags for checks only.
let strict: [SwiftSetting] =
  Context.environment["RLK_STRICT"] == nil ? [] : [.unsafeFlags(["-warnings-as-errors"])]

/// Products whose names are not their package's must name it.
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let lifecycleTests = Target.Dependency.product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

/// A program of docs/guide/packages.md, in the folder of its name.
func sample(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: "\(name)-sample", dependencies: dependencies, path: "Samples/\(name)", swiftSettings: strict)
}

let package = Package(
  name: "Adapters",
  products: [.library(name: "RunLoopService", targets: ["RunLoopService"])],
  dependencies: [
    .package(name: "RunLoopKit", path: "../.."),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
  ],
  targets: [
    .target(name: "RunLoopService", dependencies: ["RunLoopKit", lifecycle], swiftSettings: strict),
    sample("service", ["RunLoopKit", "RunLoopService", lifecycle, logging]),
    .testTarget(
      name: "RunLoopServiceTests", dependencies: ["RunLoopService", lifecycle, lifecycleTests, logging],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
