import Glibc

/// A subject in a package of its own, because what it measures is a package: `PROGRAM list` names its workloads,
/// `PROGRAM measure ...` measures one as this program's `measure` does.
struct Program: Sendable {
  let path: String?
  let workloads: Set<String>
  /// What is missing; nil if it is there.
  let absence: String?

  /// - Parameter package: Its folder, whose last part is the program's name.
  init(package: String) {
    path = Self.find(package)
    workloads = path.map(Self.ask) ?? []
    absence = path == nil ? "not built (swift build -c release --package-path \(package))" : nil
  }

  /// Beside the package that this program was built from.
  private static func find(_ package: String) -> String? {
    let name = package.split(separator: "/").last ?? ""
    var folder = Child.program
    while let slash = folder.lastIndex(of: "/") {
      folder = String(folder[..<slash])
      let program = "\(folder)/\(package)/.build/release/\(name)"
      if access(program, X_OK) == 0 { return program }
    }
    return nil
  }

  /// A line per workload.
  private static func ask(_ path: String) -> Set<String> {
    let (status, output) = Child.run([path, "list"], timeout: 10)
    return status == 0 ? Set(output.split(separator: "\n").map(String.init)) : []
  }
}
