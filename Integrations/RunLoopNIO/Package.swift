// swift-tools-version: 6.1
import PackageDescription

/// A run loop inside an event loop of SwiftNIO.

/// Flags for checks only.
let strict: [SwiftSetting] =
  Context.environment["RLK_STRICT"] == nil ? [] : [.unsafeFlags(["-warnings-as-errors"])]

let core = Target.Dependency.product(name: "CRunLoopCore", package: "RunLoopKit")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")

let package = Package(
  name: "RunLoopNIO",
  products: [.library(name: "RunLoopNIO", targets: ["RunLoopNIO"])],
  dependencies: [
    .package(name: "RunLoopKit", path: "../.."),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.80.0"),
  ],
  targets: [
    // Swift's module of the C library has not this header.
    .systemLibrary(name: "CEventfd"),
    .target(name: "RunLoopNIO", dependencies: ["CEventfd", "RunLoopKit", core, nioCore, nioPosix]),
    .executableTarget(
      name: "nio-sample", dependencies: ["RunLoopNIO", "RunLoopKit", nioCore, nioPosix], path: "Sample",
      swiftSettings: strict),
    .target(name: "CRefusedCalls", path: "Tests/CRefusedCalls"),
    .testTarget(
      name: "RunLoopNIOTests",
      dependencies: ["CRefusedCalls", "RunLoopNIO", "RunLoopKit", nioCore, nioPosix, nioEmbedded],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
