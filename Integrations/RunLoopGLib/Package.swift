// swift-tools-version: 6.1
import PackageDescription

/// A run loop inside a GMainContext, so that GLib's main loop serves it, and with it the main dispatch queue and the
/// main actor.

/// Flags for checks only.
let strict: [SwiftSetting] =
  Context.environment["RLK_STRICT"] == nil ? [] : [.unsafeFlags(["-warnings-as-errors"])]

let package = Package(
  name: "RunLoopGLib",
  products: [
    .library(name: "RunLoopGLib", targets: ["RunLoopGLib"]),
    .library(name: "CGLib", targets: ["CGLib"]),
  ],
  dependencies: [.package(name: "RunLoopKit", path: "../..")],
  targets: [
    .systemLibrary(name: "CGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
    .target(name: "RunLoopGLib", dependencies: ["CGLib", "RunLoopKit"]),
    .executableTarget(
      name: "glib-sample", dependencies: ["CGLib", "RunLoopGLib", "RunLoopKit"], path: "Sample", swiftSettings: strict),
    .target(name: "CLeftDispatch", dependencies: ["CGLib"], path: "Tests/CLeftDispatch"),
    .testTarget(
      name: "RunLoopGLibTests", dependencies: ["CGLib", "CLeftDispatch", "RunLoopGLib", "RunLoopKit"],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
