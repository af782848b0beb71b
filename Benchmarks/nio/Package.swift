// swift-tools-version: 6.1
import PackageDescription

// SwiftNIO as a subject of the benchmarks, apart from RunLoopKit's package, which needs none of it.
let package = Package(
  name: "nio",
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
  ],
  targets: [
    .target(name: "CMeasure", cSettings: [.define("_GNU_SOURCE")]),
    .target(
      name: "Measuring",
      dependencies: [
        "CMeasure", .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ]),
    .executableTarget(
      name: "nio",
      dependencies: [
        "CMeasure", "Measuring", .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
