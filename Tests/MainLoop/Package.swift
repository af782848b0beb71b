// swift-tools-version: 6.1
import PackageDescription

/// One program in three: what it is linked with must not decide whether its main loop ends. And one whose main thread ends. Run by scripts/main-loop.
let package = Package(
  name: "MainLoop",
  dependencies: [.package(name: "RunLoopKit", path: "../..")],
  targets: [
    .target(name: "Story", dependencies: ["RunLoopKit"]),
    .executableTarget(name: "plain", dependencies: ["Story"]),
    .executableTarget(name: "queue", dependencies: ["Story"]),
    .executableTarget(name: "task", dependencies: ["Story"]),
    .executableTarget(name: "async", dependencies: ["RunLoopKit"]),
    .executableTarget(name: "ended", dependencies: ["RunLoopKit"]),
  ],
  swiftLanguageModes: [.v6]
)
