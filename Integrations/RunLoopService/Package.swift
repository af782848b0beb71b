// swift-tools-version: 6.1
import PackageDescription

/// A run loop's thread as a service of swift-service-lifecycle.

let package = Package(
  name: "RunLoopService",
  products: [.library(name: "RunLoopService", targets: ["RunLoopService"])],
  dependencies: [
    .package(name: "RunLoopKit", path: "../.."),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
  ],
  targets: [
    .target(
      name: "RunLoopService",
      dependencies: ["RunLoopKit", .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")])
  ],
  swiftLanguageModes: [.v6]
)
