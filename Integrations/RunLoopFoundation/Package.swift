// swift-tools-version: 6.1
import PackageDescription

/// A run loop inside Foundation's, so that CFRunLoop serves it.

/// Flags for checks only.
let strict: [SwiftSetting] =
  Context.environment["RLK_STRICT"] == nil ? [] : [.unsafeFlags(["-warnings-as-errors"])]

let package = Package(
  name: "RunLoopFoundation",
  products: [.library(name: "RunLoopFoundation", targets: ["RunLoopFoundation"])],
  dependencies: [.package(name: "RunLoopKit", path: "../..")],
  targets: [
    // Swift's module of the C library has not this header.
    .systemLibrary(name: "CEventfd"),
    .target(
      name: "RunLoopFoundation",
      dependencies: ["CEventfd", "RunLoopKit", .product(name: "CRunLoopCore", package: "RunLoopKit")]),
    .executableTarget(
      name: "foundation-sample", dependencies: ["RunLoopFoundation", "RunLoopKit"], path: "Sample",
      swiftSettings: strict),
    .testTarget(
      name: "RunLoopFoundationTests", dependencies: ["RunLoopFoundation", "RunLoopKit"], swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
