// swift-tools-version: 6.1
import PackageDescription

/// What a run loop reports, in a log of swift-log.

let package = Package(
  name: "RunLoopLogging",
  products: [.library(name: "RunLoopLogging", targets: ["RunLoopLogging"])],
  dependencies: [
    .package(name: "RunLoopKit", path: "../.."),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.14.0"),
  ],
  targets: [
    .target(
      name: "RunLoopLogging",
      dependencies: ["RunLoopKit", .product(name: "Logging", package: "swift-log")])
  ],
  swiftLanguageModes: [.v6]
)
