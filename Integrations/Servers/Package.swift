// swift-tools-version: 6.1
import PackageDescription

/// Programs of others on a run loop, with the large packages that they need.

let kit = Target.Dependency.product(name: "RunLoopKit", package: "RunLoopKit")

let package = Package(
  name: "Servers",
  products: [.library(name: "RunLoopSocketPool", targets: ["RunLoopSocketPool"])],
  dependencies: [
    .package(name: "RunLoopKit", path: "../.."),
    .package(url: "https://github.com/swhitty/FlyingFox.git", from: "0.26.0"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.80.0"),
  ],
  targets: [
    .target(
      name: "RunLoopSocketPool", dependencies: [kit, .product(name: "FlyingSocks", package: "FlyingFox")]),
    .executableTarget(
      name: "beside-nio",
      dependencies: [
        kit, .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
      ]),
    .executableTarget(name: "fox", dependencies: [kit, "RunLoopSocketPool", "FlyingFox"]),
  ],
  swiftLanguageModes: [.v6]
)
