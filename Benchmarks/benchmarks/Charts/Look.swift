/// How a subject looks in pictures.
extension Subject {
  var displayName: String {
    switch name {
    case Self.floor: "the floor"
    case Self.core: "RunLoopKit core, C"
    case Self.overlay: "RunLoopKit, Swift"
    case "cf": "CFRunLoop"
    case "dispatch": "libdispatch"
    case "glib": "GLib"
    case "nio": "SwiftNIO"
    default: name
    }
  }

  var isOurs: Bool { Self.ours.contains(name) }

  /// Of its bar: ours stand out, all others recede.
  var barColor: String {
    switch name {
    case Self.floor: "#8b949e"
    case Self.core: "#0b3d91"
    case Self.overlay: "#1f6feb"
    default: "#d0d7de"
    }
  }

  /// Of its line and its dot.
  var color: String {
    switch name {
    case Self.floor: "#8b949e"
    case Self.core: "#0b3d91"
    case Self.overlay: "#1f6feb"
    case "cf": "#cf222e"
    case "dispatch": "#bf8700"
    case "libuv": "#8250df"
    case "libev": "#1a7f37"
    case "libevent": "#57ab5a"
    case "glib": "#fb8f44"
    case "nio": "#d63384"
    default: "#1b9aaa"
    }
  }
}

extension Workload {
  func figure(_ value: Double) -> String {
    switch metric {
    case .memory: Figure.plain(value) + " B"
    case .moves: Figure.plain(value)
    default: Figure.time(value, micro: "µs", blank: " ")
    }
  }

  /// For an axis: "10.0 µs" is "10 µs".
  func tick(_ value: Double) -> String {
    let text = figure(value)
    guard let point = text.firstIndex(of: ".") else { return text }
    let digits = text[text.index(after: point)...].prefix { $0.isNumber }
    return digits.allSatisfy { $0 == "0" }
      ? String(text[..<point] + text[point...].drop { $0 == "." || $0.isNumber }) : text
  }

  var unit: String {
    switch metric {
    case .perOperation: "time per operation"
    case .latency: "half of all take less"
    case .processor: "processor time per operation"
    case .drift: "how late the last date is"
    case .memory: "bytes of malloc per item"
    case .moves: "moves per operation"
    }
  }
}
