// swift-tools-version: 6.1
import PackageDescription

/// The programs of docs/guide/recipes.md. A package of its own: whoever builds the other examples needs none of these
/// libraries. RLK_RECIPES: the names of those that are wanted, with a space between them; without it, all.

/// Flags for checks only.
let strict: [SwiftSetting] =
  Context.environment["RLK_STRICT"] == nil ? [] : [.unsafeFlags(["-warnings-as-errors"])]

struct Recipe {
  let name: String
  let needs: [Target.Dependency]
  /// The libraries of the system, and what is not Swift.
  var others: [Target] = []

  var targets: [Target] {
    [.executableTarget(name: name, dependencies: ["RunLoopKit"] + needs, swiftSettings: strict)] + others
  }
}

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "RunLoopKit") }

let recipes = [
  Recipe(
    name: "gtk", needs: [product("RunLoopGLib"), "CGTK"],
    others: [.systemLibrary(name: "CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])])]),
  Recipe(
    name: "qt", needs: ["QtShell"],
    others: [
      .target(name: "QtShell", dependencies: ["CQt"]),
      .systemLibrary(name: "CQt", pkgConfig: "Qt5Widgets", providers: [.apt(["qtbase5-dev"])]),
    ]),
  Recipe(name: "notify", needs: [product("RunLoopEvents")]),
  Recipe(name: "listeners", needs: []),
  Recipe(
    name: "dbus", needs: ["CSystemd"],
    others: [.systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])])]),
]

let names = Context.environment["RLK_RECIPES"]?.split(separator: " ").map(String.init)
let wanted = recipes.filter { names?.contains($0.name) ?? true }

let package = Package(
  name: "Recipes",
  dependencies: [
    .package(name: "RunLoopKit", path: "../..", traits: wanted.contains { $0.name == "gtk" } ? ["GLib"] : [])
  ],
  targets: wanted.flatMap { $0.targets },
  swiftLanguageModes: [.v6],
  cxxLanguageStandard: .cxx17
)
