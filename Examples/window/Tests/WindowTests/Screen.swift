import Foundation
import XCTest

/// A screen that nobody sees, for as long as this lives.
final class Screen {
  /// As DISPLAY wants it.
  let name: String
  private let server: Program

  /// Returns when the server can be connected to. Skips the test where there is none.
  init() throws {
    for tool in ["Xvfb", "xdotool"] where try Program(["sh", "-c", "command -v \(tool)"]).end() != 0 {
      throw XCTSkip("no \(tool) here")
    }
    // It says the number of its display when it is ready.
    server = try Program(["Xvfb", "-noreset", "-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"])
    name = ":" + (try server.line())
  }

  deinit { server.kill() }

  /// What a user does. Returns when the server has it.
  func act(_ words: String) throws {
    let tool = try Program(["xdotool"] + words.split(separator: " ").map(String.init), display: name)
    XCTAssertEqual(try tool.end(), 0, "xdotool \(words)")
  }
}
