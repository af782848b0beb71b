// swift-tools-version: 6.1
import PackageDescription

/// Flags for checks only; a package with unsafe flags cannot be a dependency by version, so none without the variable.
let isStrict = Context.environment["RLK_STRICT"] != nil
let strictSwift: [SwiftSetting] = isStrict ? [.unsafeFlags(["-warnings-as-errors"])] : []
let strictC: [CSetting] = isStrict ? [.unsafeFlags(["-Wall", "-Wextra", "-Wpedantic", "-Werror"])] : []

let package = Package(
  name: "RunLoopKit",
  products: [
    .library(name: "CRunLoopCore", targets: ["CRunLoopCore"]),
    .library(name: "RunLoopKit", targets: ["RunLoopKit"]),
    .library(name: "RunLoopTesting", targets: ["RunLoopTesting"]),
    .executable(name: "runloop", targets: ["runloop"]),
  ],
  targets: [
    .systemLibrary(name: "CBSD", path: "Sources/CBSD", pkgConfig: "libbsd", providers: [.apt(["libbsd-dev"])]),
    .target(
      name: "CRunLoopCore", dependencies: ["CBSD"], path: ".", sources: ["Sources/CRunLoopCore"],
      publicHeadersPath: "include",
      cSettings: [.headerSearchPath("Sources/CRunLoopCore/internal"), .define("_GNU_SOURCE")] + strictC),
    .target(name: "RunLoopKit", dependencies: ["CRunLoopCore"], swiftSettings: strictSwift),
    .target(name: "RunLoopTesting", dependencies: ["RunLoopKit", "CRunLoopCore"], swiftSettings: strictSwift),
    .executableTarget(
      name: "runloop", dependencies: ["RunLoopKit", "RunLoopTesting", "CRunLoopCore"], swiftSettings: strictSwift),
    .target(name: "CTestSupport", path: "Tests/CTestSupport"),
    .testTarget(name: "ConformanceTests", dependencies: ["runloop"], exclude: ["Corpus"]),
    .testTarget(name: "RunLoopTestingTests", dependencies: ["RunLoopTesting", "RunLoopKit"]),
    .testTarget(name: "RunLoopKitTests", dependencies: ["RunLoopKit", "CRunLoopCore", "CTestSupport"]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
