// swift-tools-version: 6.1
import PackageDescription

/// Flags for checks only; a package with unsafe flags cannot be a dependency by version, so none without the variable.
let isStrict = Context.environment["RLK_STRICT"] != nil
let strictSwift: [SwiftSetting] = isStrict ? [.unsafeFlags(["-warnings-as-errors"])] : []
let strictC: [CSetting] = isStrict ? [.unsafeFlags(["-Wall", "-Wextra", "-Wpedantic", "-Werror"])] : []

/// The toolchain's interface of custom main executors, which is not public, is known of these compilers only. With another
/// one RunLoopMainExecutor compiles all the same, and cannot be used.
#if compiler(>=6.3) && compiler(<6.4)
  let mainExecutors: [SwiftSetting] = [.define("CUSTOM_MAIN_EXECUTORS")]
#else
  let mainExecutors: [SwiftSetting] = []
#endif

/// The benchmarks' own: a package that depends on RunLoopKit resolves and builds none of it (docs/decisions/0005).
let hasBenchmarks = Context.environment["RLK_NO_BENCHMARKS"] == nil
let benchmarkDependencies: [Package.Dependency] =
  hasBenchmarks
  ? [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
  ] : []
let benchmarkTargets: [Target] =
  hasBenchmarks
  ? [
    .target(name: "CMeasure", path: "Benchmarks/CMeasure", cSettings: [.define("_GNU_SOURCE")]),
    .target(
      name: "CPeers", dependencies: ["CMeasure", "CRunLoopCore"], path: "Benchmarks/CPeers",
      cSettings: [.define("_GNU_SOURCE")]),
    .target(
      name: "Measuring",
      dependencies: [
        "CMeasure", .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ],
      path: "Benchmarks/Measuring", swiftSettings: strictSwift),
    .executableTarget(
      name: "benchmarks",
      dependencies: [
        "RunLoopKit", "RunLoopPorts", "CPeers", "Measuring",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Benchmarks/benchmarks", swiftSettings: strictSwift),
    .testTarget(name: "BenchmarksTests", dependencies: ["benchmarks", "Measuring"], path: "Benchmarks/Tests"),
  ] : []

let package = Package(
  name: "RunLoopKit",
  products: [
    .library(name: "CRunLoopCore", targets: ["CRunLoopCore"]),
    .library(name: "RunLoopKit", targets: ["RunLoopKit"]),
    .library(name: "RunLoopEvents", targets: ["RunLoopEvents"]),
    .library(name: "RunLoopPorts", targets: ["RunLoopPorts"]),
    .library(name: "RunLoopMainExecutor", targets: ["RunLoopMainExecutor"]),
    .library(name: "RunLoopTesting", targets: ["RunLoopTesting"]),
    .library(name: "RunLoopKitC", targets: ["RunLoopKitC"]),
    .executable(name: "runloop", targets: ["runloop"]),
  ],
  dependencies: benchmarkDependencies,
  targets: [
    .target(
      name: "CRunLoopCore", path: ".", sources: ["Sources/CRunLoopCore"],
      publicHeadersPath: "include",
      cSettings: [
        .headerSearchPath("Sources/CRunLoopCore/internal"), .define("_GNU_SOURCE"), .define("RLC_WITH_KIT"),
      ] + strictC),
    // The C library, whichever it is; in no product.
    .target(name: "RunLoopLibc", swiftSettings: strictSwift),
    .target(name: "RunLoopKit", dependencies: ["CRunLoopCore", "RunLoopLibc"], swiftSettings: strictSwift),
    .target(
      name: "RunLoopEvents", dependencies: ["RunLoopKit", "CRunLoopCore", "RunLoopLibc"], swiftSettings: strictSwift),
    .target(
      name: "RunLoopPorts", dependencies: ["RunLoopKit", "CRunLoopCore", "RunLoopLibc"], swiftSettings: strictSwift),
    // The bodies of include/runloopkit, whose module stands in the core's module map.
    .target(
      name: "RunLoopKitC",
      dependencies: ["RunLoopKit", "RunLoopEvents", "RunLoopPorts", "CRunLoopCore", "RunLoopLibc"],
      swiftSettings: strictSwift),
    // The hooks of the Swift runtime, which virtual time uses; in no product of its own.
    .target(name: "CRunLoopTesting", cSettings: strictC),
    .target(
      name: "RunLoopMainExecutor", dependencies: ["RunLoopKit", "RunLoopLibc"],
      swiftSettings: strictSwift + mainExecutors),
    .target(
      name: "RunLoopTesting", dependencies: ["RunLoopKit", "CRunLoopCore", "CRunLoopTesting", "RunLoopLibc"],
      swiftSettings: strictSwift),
    .executableTarget(
      name: "runloop",
      dependencies: ["RunLoopKit", "RunLoopEvents", "RunLoopPorts", "RunLoopTesting", "CRunLoopCore", "RunLoopLibc"],
      swiftSettings: strictSwift),
    .executableTarget(
      name: "port-peer", dependencies: ["RunLoopKit", "RunLoopPorts", "CTestSupport"], path: "Tests/PortPeer",
      swiftSettings: strictSwift),
    .executableTarget(
      name: "hostile-peers",
      dependencies: ["RunLoopKit", "RunLoopPorts", "CRunLoopCore", "CTestSupport", "RunLoopTestSupport"],
      path: "Tests/HostilePeers", swiftSettings: strictSwift),
    .executableTarget(
      name: "failing-calls",
      dependencies: ["RunLoopKit", "RunLoopEvents", "RunLoopPorts", "CRunLoopCore", "CTestSupport"],
      path: "Tests/FailingCalls", swiftSettings: strictSwift),
    .executableTarget(
      name: "main-executor", dependencies: ["RunLoopKit", "RunLoopMainExecutor"], path: "Tests/MainExecutor",
      swiftSettings: strictSwift + mainExecutors),
    .executableTarget(
      name: "main-ends", dependencies: ["RunLoopKit", "RunLoopEvents"], path: "Tests/MainEnds",
      swiftSettings: strictSwift),
    .target(name: "CFailingLibc", path: "Tests/CFailingLibc", cSettings: [.define("_GNU_SOURCE")]),
    .executableTarget(
      name: "error-texts",
      dependencies: ["RunLoopKit", "RunLoopEvents", "RunLoopPorts", "CRunLoopCore", "CFailingLibc", "CTestSupport"],
      path: "Tests/ErrorTexts", exclude: ["texts.txt"], swiftSettings: strictSwift),
    .target(name: "CTestSupport", dependencies: ["CRunLoopCore"], path: "Tests/CTestSupport"),
    .target(name: "RunLoopTestSupport", path: "Tests/TestSupport"),
    .target(
      name: "CModel", dependencies: ["CRunLoopCore"], path: "Tests/CModel",
      cSettings: [.define("_GNU_SOURCE"), .headerSearchPath("../../Sources/Adapters")]),
    .testTarget(name: "RunLoopKitCTests", dependencies: ["RunLoopKitC", "RunLoopKit", "RunLoopPorts", "CModel"]),
    .testTarget(
      name: "ConformanceTests", dependencies: ["runloop", "failing-calls", "error-texts"], exclude: ["Corpus"]),
    .testTarget(
      name: "RunLoopTestingTests",
      dependencies: ["RunLoopTesting", "RunLoopKit", "RunLoopEvents", "RunLoopPorts", "CTestSupport"]),
    .testTarget(
      name: "RunLoopKitTests",
      dependencies: [
        "RunLoopKit", "RunLoopEvents", "RunLoopPorts", "CRunLoopCore", "CTestSupport", "RunLoopTestSupport",
        "port-peer", "hostile-peers", "main-executor", "main-ends",
      ]),
  ] + benchmarkTargets,
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
