import XCTest

/// The window as its user meets it: hands on the mouse, eyes on the labels.
final class WindowTests: XCTestCase {
  /// A drag runs the tracking mode: nothing of the default mode happens before its end.
  func test_drag() throws {
    let screen = try Screen()
    let window = try Self.open(on: screen)
    let list = try Self.middle(of: window, "list")
    try window.line(beginning: "shown: 6")  // the rows that are seen at first
    try window.line(beginning: "default clock: ")

    try screen.act("mousemove \(list.x) \(list.y) mousedown 1")
    try window.line(beginning: "mode: tracking")
    let begin = window.lines.count
    try screen.act("mousemove \(list.x) \(list.y - 80) mousemove \(list.x) \(list.y - 160)")
    try window.line(beginning: "made: 9")
    for _ in 1...3 { try window.line(beginning: "common clock: ") }
    try screen.act("mouseup 1")
    try window.line(beginning: "mode: default")
    let during = window.lines[begin..<window.lines.count - 1]
    XCTAssertEqual(during.filter { $0.hasPrefix("default clock") || $0.hasPrefix("shown") || $0.hasPrefix("mode") }, [])
    XCTAssertEqual(during.filter { $0.hasPrefix("made") }.last, "made: 9")

    // What has waited comes now, and the clock goes on with the time that it is.
    try window.line(beginning: "shown: 9")
    let before = try XCTUnwrap(window.lines[..<begin].last { $0.hasPrefix("default clock") })
    let after = try XCTUnwrap(
      window.lines[begin...].first { $0.hasPrefix("default clock") } ?? window.line(beginning: "default clock"))
    XCTAssertGreaterThanOrEqual(Self.tenths(after) - Self.tenths(before), 2)
    try Self.close(window, on: screen)
  }

  /// A press lets a task count elsewhere; the main actor shows its result, whether the user drags meanwhile or not.
  func test_button() throws {
    let screen = try Screen()
    let window = try Self.open(on: screen)
    let (list, button) = (try Self.middle(of: window, "list"), try Self.middle(of: window, "button"))
    try window.line(beginning: "shown: 6")
    try screen.act("mousemove \(button.x) \(button.y) mousedown 1 mousemove \(list.x) \(list.y) mouseup 1")
    try screen.act("mousemove \(button.x) \(button.y) click 1")
    try window.line(beginning: "primes: counting")
    try screen.act("mousemove \(list.x) \(list.y) mousedown 1")
    if !window.lines.contains("primes: 148933 below 2000000") {
      try window.line(beginning: "primes: 148933 below 2000000")
    }
    XCTAssertEqual(window.lines.filter { $0 == "primes: counting" }.count, 1, "a press that was taken back is none")
    try screen.act("mouseup 1")
    try Self.close(window, on: screen)
  }

  /// Being told to stop while the user drags ends both runs.
  func test_endWhileDragging() throws {
    let screen = try Screen()
    let window = try Self.open(on: screen)
    let list = try Self.middle(of: window, "list")
    try screen.act("mousemove \(list.x) \(list.y) mousedown 1")
    try window.line(beginning: "mode: tracking")
    try Self.close(window, on: screen)
  }

  /// Without a server it says so.
  func test_noServer() throws {
    let window = try Program([Self.path], display: ":none")
    XCTAssertEqual(try window.end(), 1)
  }

  private static func open(on screen: Screen) throws -> Program { try Program([path], display: screen.name) }

  private static func close(_ window: Program, on screen: Screen) throws {
    try screen.act("key q")
    XCTAssertEqual(try window.end(), 0)
  }

  /// Of something that the window says where it is.
  private static func middle(of window: Program, _ name: String) throws -> (x: Int, y: Int) {
    let numbers = try window.line(beginning: "\(name) at ").split(separator: " ").compactMap { Int($0) }
    return (numbers[0] + numbers[2] / 2, numbers[1] + numbers[3] / 2)
  }

  private static func tenths(_ line: String) -> Int { Int(line.filter(\.isNumber)) ?? 0 }

  private static var path: String {
    URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
      .appendingPathComponent("window").path
  }
}
