// swift-tools-version: 6.1
import PackageDescription

/// A run loop as a scheduler of OpenCombine, without Foundation.

let package = Package(
  name: "RunLoopCombine",
  products: [.library(name: "RunLoopCombine", targets: ["RunLoopCombine"])],
  dependencies: [
    .package(name: "RunLoopKit", path: "../.."),
    .package(url: "https://github.com/OpenCombine/OpenCombine.git", from: "0.14.0"),
  ],
  targets: [
    .target(
      name: "RunLoopCombine",
      dependencies: [
        "RunLoopKit", .product(name: "CRunLoopCore", package: "RunLoopKit"),
        .product(name: "OpenCombine", package: "OpenCombine"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
