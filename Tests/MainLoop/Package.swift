// swift-tools-version: 6.1
import PackageDescription

// As in the package's own manifest: with another compiler the program would not compile.
#if compiler(>=6.3) && compiler(<6.4)
  let mainExecutors: [Target] = [
    .executableTarget(
      name: "actor", dependencies: ["RunLoopKit", .product(name: "RunLoopMainExecutor", package: "RunLoopKit")])
  ]
#else
  let mainExecutors: [Target] = []
#endif

/// One program in three: what it is linked with must not decide whether its main loop ends. And those whose main thread ends. Run by scripts/main-loop.
let package = Package(
  name: "MainLoop",
  dependencies: [.package(name: "RunLoopKit", path: "../..", traits: ["MainExecutor"])],
  targets: [
    .target(name: "Story", dependencies: ["RunLoopKit"]),
    .executableTarget(name: "plain", dependencies: ["Story"]),
    .executableTarget(name: "queue", dependencies: ["Story"]),
    .executableTarget(name: "task", dependencies: ["Story"]),
    .executableTarget(name: "async", dependencies: ["RunLoopKit"]),
    .executableTarget(name: "ended", dependencies: ["RunLoopKit"]),
    .executableTarget(name: "kept", dependencies: ["RunLoopKit"]),
    .executableTarget(name: "dispatched", dependencies: ["RunLoopKit"]),
    .executableTarget(name: "late", dependencies: ["RunLoopKit"]),
  ] + mainExecutors,
  swiftLanguageModes: [.v6]
)
