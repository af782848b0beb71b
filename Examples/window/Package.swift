// swift-tools-version: 6.1
import PackageDescription

/// A window of its own on X11. A package of its own: whoever builds the other examples needs no libxcb.

/// Flags for checks only.
let strict: [SwiftSetting] =
  Context.environment["RLK_STRICT"] == nil ? [] : [.unsafeFlags(["-warnings-as-errors"])]

let package = Package(
  name: "Window",
  dependencies: [.package(name: "RunLoopKit", path: "../..")],
  targets: [
    .systemLibrary(name: "CXCB", pkgConfig: "xcb", providers: [.apt(["libxcb1-dev"])]),
    .target(name: "XWindow", dependencies: ["CXCB", "RunLoopKit"], swiftSettings: strict),
    .executableTarget(name: "window", dependencies: ["XWindow", "RunLoopKit"], swiftSettings: strict),
    .testTarget(name: "WindowTests", dependencies: ["CXCB", "XWindow", "window", "RunLoopKit"], swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
