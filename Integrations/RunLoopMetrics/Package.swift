// swift-tools-version: 6.1
import PackageDescription

/// What a run loop does, as metrics of swift-metrics.

let package = Package(
  name: "RunLoopMetrics",
  products: [.library(name: "RunLoopMetrics", targets: ["RunLoopMetrics"])],
  dependencies: [
    .package(name: "RunLoopKit", path: "../.."),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.7.0"),
  ],
  targets: [
    .target(
      name: "RunLoopMetrics",
      dependencies: ["RunLoopKit", .product(name: "CoreMetrics", package: "swift-metrics")])
  ],
  swiftLanguageModes: [.v6]
)
