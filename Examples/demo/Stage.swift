@preconcurrency import Glibc  // stderr is a variable there

extension Demo {
  /// Where stories are told: standard output, 80 columns, in colour if it is a terminal and NO_COLOR is unset.
  ///
  /// Any thread may speak: a line is one write(2).
  struct Stage: Sendable {
    enum Style: String {
      case bold = "1"
      case dim = "2"
      case red = "31"
      case green = "32"
      case yellow = "33"
      case cyan = "36"
    }

    static let width = 80
    private let isColoured: Bool

    init() {
      let refusal = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
      isColoured = isatty(STDOUT_FILENO) == 1 && !refusal
    }

    func styled(_ text: String, _ style: Style) -> String {
      isColoured ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    func put(_ line: String) { print(line) }
    func complain(_ line: String) { fputs(line + "\n", stderr) }

    // MARK: Narrative

    func banner(_ title: String, _ subtitle: String) {
      let inner = Self.width - 4
      put("╭" + String(repeating: "─", count: Self.width - 2) + "╮")
      put("│ " + styled(padded(title, inner), .bold) + " │")
      put("│ " + styled(padded(subtitle, inner), .dim) + " │")
      put("╰" + String(repeating: "─", count: Self.width - 2) + "╯")
    }

    func heading(_ number: String, _ name: String, _ title: String) {
      let rule = String(repeating: "─", count: max(0, Self.width - 7 - number.count - name.count - title.count))
      put("")
      put("── \(number) " + styled(name, .cyan) + ": " + styled(title, .bold) + " " + rule)
    }

    /// A paragraph, wrapped.
    func say(_ text: String) {
      var line = ""
      for word in text.split(separator: " ") {
        if !line.isEmpty && line.count + 1 + word.count > Self.width - 4 {
          put("   " + line)
          line = ""
        }
        line += (line.isEmpty ? "" : " ") + word
      }
      put("   " + line)
    }

    /// Something that happens at this moment.
    func note(_ text: String) { put("   " + styled("·", .dim) + " " + text) }

    // MARK: Results

    func verdict(_ outcome: Outcome) {
      for check in outcome.checks {
        let mark = check.holds ? styled("✓", .green) : styled("✗", .red)
        let room = Self.width - 5 - check.claim.count - check.seen.count
        if room >= 3 {
          put("   \(mark) \(check.claim) " + styled(String(repeating: "·", count: room - 2), .dim) + " \(check.seen)")
        } else {
          put("   \(mark) \(check.claim)")
          put("       seen: \(check.seen)")
        }
      }
    }

    struct Cell {
      let text: String
      let style: Style?
      static func plain(_ text: String) -> Cell { Cell(text: text, style: nil) }
      static func good(_ text: String) -> Cell { Cell(text: text, style: .green) }
      static func bad(_ text: String) -> Cell { Cell(text: text, style: .red) }
    }

    func table(columns: [(title: String, width: Int)], rows: [[Cell]]) {
      func rule(_ left: String, _ middle: String, _ right: String) -> String {
        left + columns.map { String(repeating: "─", count: $0.width + 2) }.joined(separator: middle) + right
      }
      func row(_ cells: [Cell]) -> String {
        let texts = zip(columns, cells).map { column, cell in
          let text = padded(String(cell.text.prefix(column.width)), column.width)
          return " " + (cell.style.map { styled(text, $0) } ?? text) + " "
        }
        return "│" + texts.joined(separator: "│") + "│"
      }
      put(rule("┌", "┬", "┐"))
      put(row(columns.map { Cell(text: $0.title, style: .bold) }))
      put(rule("├", "┼", "┤"))
      for cells in rows { put(row(cells)) }
      put(rule("└", "┴", "┘"))
    }
  }
}
