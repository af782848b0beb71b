// swift-tools-version: 6.1
import PackageDescription

/// The compiler treats warnings as errors if `RLK_STRICT` is set. The flags are off by default, because SwiftPM refuses
/// a package with unsafe flags as a dependency by version.
let isStrict = Context.environment["RLK_STRICT"] != nil
let strictSwift: [SwiftSetting] = isStrict ? [.unsafeFlags(["-warnings-as-errors"])] : []
let strictC: [CSetting] = isStrict ? [.unsafeFlags(["-Wall", "-Wextra", "-Wpedantic", "-Werror"])] : []

/// Each trait enables the product that joins a loop to another package or library, and is off by default. For a
/// dependent without the trait, SwiftPM resolves and builds nothing that the product needs (docs/decisions/0045).
let traits: Set<Trait> = [
  .trait(name: "Foundation", description: "RunLoopFoundation: a loop in Foundation's"),
  .trait(name: "GLib", description: "RunLoopGLib: a loop in GLib's"),
  .trait(name: "MainExecutor", description: "RunLoopMainExecutor: the main actor on a loop"),
  .trait(name: "Metrics", description: "RunLoopMetrics: what a loop does, for swift-metrics"),
  .trait(name: "NIO", description: "RunLoopNIO: a loop in SwiftNIO's"),
  .trait(name: "Service", description: "RunLoopService: a loop as a service of swift-service-lifecycle"),
  // The project's scripts name their traits in RLK_TRAITS. Packages that depend on this one by path take its default
  // traits, and so share its build.
  .default(enabledTraits: Set((Context.environment["RLK_TRAITS"] ?? "").split(separator: " ").map(String.init))),
]
let adapterDependencies: [Package.Dependency] = [
  .package(url: "https://github.com/apple/swift-metrics.git", from: "2.7.0"),
  .package(url: "https://github.com/apple/swift-nio.git", from: "2.80.0"),
  .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
]

/// Makes the target of an adapter. Its files are empty without its trait, because SwiftPM builds a package's own
/// targets whatever the traits are.
func adapter(_ trait: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(
    name: "RunLoop\(trait)", dependencies: ["RunLoopKit", "RunLoopLibc", "CRunLoopCore"] + dependencies,
    swiftSettings: strictSwift)
}

/// A product of another package, used only with a trait.
func product(_ name: String, of package: String, for trait: String) -> Target.Dependency {
  .product(name: name, package: package, condition: .when(traits: [trait]))
}

/// The toolchain's interface of custom main executors is not public, and the project uses it only with these compilers.
/// With another compiler, or without the trait, RunLoopMainExecutor compiles, but its functions are unavailable.
#if compiler(>=6.3) && compiler(<6.4)
  let mainExecutors: [SwiftSetting] = [.define("CUSTOM_MAIN_EXECUTORS", .when(traits: ["MainExecutor"]))]
#else
  let mainExecutors: [SwiftSetting] = []
#endif

/// False leaves out the packages and targets that only the benchmarks need. For a dependent of RunLoopKit, SwiftPM
/// resolves and builds none of them in any case (docs/decisions/0005).
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
      name: "CPeers", dependencies: ["CMeasure", "CRunLoop", "CRunLoopCore"], path: "Benchmarks/CPeers",
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
    .library(name: "CRunLoop", targets: ["CRunLoop"]),
    .library(name: "RunLoopKit", targets: ["RunLoopKit"]),
    .library(name: "RunLoopEvents", targets: ["RunLoopEvents"]),
    .library(name: "RunLoopPorts", targets: ["RunLoopPorts"]),
    .library(name: "RunLoopTesting", targets: ["RunLoopTesting"]),
    .library(name: "RunLoopKitC", targets: ["RunLoopKitC"]),
    .executable(name: "runloop", targets: ["runloop"]),
    .library(name: "CGLib", targets: ["CGLib"]),
    .library(name: "RunLoopFoundation", targets: ["RunLoopFoundation"]),
    .library(name: "RunLoopGLib", targets: ["RunLoopGLib"]),
    .library(name: "RunLoopMainExecutor", targets: ["RunLoopMainExecutor"]),
    .library(name: "RunLoopMetrics", targets: ["RunLoopMetrics"]),
    .library(name: "RunLoopNIO", targets: ["RunLoopNIO"]),
    .library(name: "RunLoopService", targets: ["RunLoopService"]),
  ],
  traits: traits,
  dependencies: adapterDependencies + benchmarkDependencies,
  targets: [
    .target(
      name: "CRunLoopCore", path: ".", sources: ["Sources/CRunLoopCore"],
      publicHeadersPath: "include",
      cSettings: [
        .headerSearchPath("Sources/CRunLoopCore/internal"), .define("_GNU_SOURCE"), .define("RLC_WITH_KIT"),
      ] + strictC),
    // rlc_loop and its adapters, for hosts in C. No Swift program contains it.
    .target(
      name: "CRunLoop", dependencies: ["CRunLoopCore"],
      cSettings: [
        .headerSearchPath("internal"), .headerSearchPath("../CRunLoopCore/internal"), .define("_GNU_SOURCE"),
      ] + strictC),
    // Exports the C library: Glibc, Musl or Android. It is no product of its own.
    .target(name: "RunLoopLibc", swiftSettings: strictSwift),
    .target(name: "RunLoopKit", dependencies: ["CRunLoopCore", "RunLoopLibc"], swiftSettings: strictSwift),
    .target(
      name: "RunLoopEvents", dependencies: ["RunLoopKit", "CRunLoopCore", "RunLoopLibc"], swiftSettings: strictSwift),
    .target(
      name: "RunLoopPorts", dependencies: ["RunLoopKit", "CRunLoopCore", "RunLoopLibc"], swiftSettings: strictSwift),
    // The functions of include/runloopkit. The core's module map (include/module.modulemap) declares their module.
    .target(
      name: "RunLoopKitC",
      dependencies: ["RunLoopKit", "RunLoopEvents", "RunLoopPorts", "CRunLoopCore", "RunLoopLibc"],
      swiftSettings: strictSwift),
    // The hook of the Swift runtime that virtual time uses. It is no product of its own.
    .target(name: "CRunLoopTesting", cSettings: strictC),
    .target(
      name: "RunLoopMainExecutor", dependencies: ["RunLoopKit", "RunLoopLibc"],
      swiftSettings: strictSwift + mainExecutors),
    .target(
      name: "RunLoopTesting", dependencies: ["RunLoopKit", "CRunLoopCore", "CRunLoopTesting", "RunLoopLibc"],
      swiftSettings: strictSwift),
    .systemLibrary(name: "CGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
    // <sys/eventfd.h>, which Swift's module of the C library lacks.
    .systemLibrary(name: "CEventfd"),
    adapter("Foundation", ["CEventfd"]),
    adapter("GLib", [.target(name: "CGLib", condition: .when(traits: ["GLib"]))]),
    adapter("Metrics", [product("CoreMetrics", of: "swift-metrics", for: "Metrics")]),
    adapter(
      "NIO",
      [
        "CEventfd", product("NIOCore", of: "swift-nio", for: "NIO"), product("NIOPosix", of: "swift-nio", for: "NIO"),
      ]),
    adapter("Service", [product("ServiceLifecycle", of: "swift-service-lifecycle", for: "Service")]),
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
      name: "main-ends", dependencies: ["RunLoopKit", "RunLoopEvents", "RunLoopTestSupport"], path: "Tests/MainEnds",
      swiftSettings: strictSwift),
    .target(name: "CFailingLibc", path: "Tests/CFailingLibc", cSettings: [.define("_GNU_SOURCE")]),
    .executableTarget(
      name: "error-texts",
      dependencies: ["RunLoopKit", "RunLoopEvents", "RunLoopPorts", "CRunLoopCore", "CFailingLibc", "CTestSupport"],
      path: "Tests/ErrorTexts", exclude: ["texts.txt"], swiftSettings: strictSwift),
    .target(name: "CTestSupport", dependencies: ["CRunLoopCore"], path: "Tests/CTestSupport"),
    .target(name: "RunLoopTestSupport", path: "Tests/TestSupport"),
    .target(
      name: "CModel", dependencies: ["CRunLoop", "CRunLoopCore"], path: "Tests/CModel",
      cSettings: [.define("_GNU_SOURCE")]),
    .testTarget(name: "RunLoopKitCTests", dependencies: ["RunLoopKitC", "RunLoopKit", "RunLoopPorts", "CModel"]),
    .testTarget(
      name: "ConformanceTests", dependencies: ["runloop", "failing-calls", "error-texts", "CRunLoopCore"],
      exclude: ["Corpus"]),
    .testTarget(
      name: "RunLoopTestingTests",
      dependencies: [
        "RunLoopTesting", "RunLoopKit", "RunLoopEvents", "RunLoopPorts", "CTestSupport", "RunLoopTestSupport",
      ]),
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
