import XWindow

/// Seconds and tenths, in digits of seven bars.
@MainActor struct ClockFace {
  private static let digit = Size(18, 32)
  private static let bars: [Character: String] = [
    "0": "abcdef", "1": "bc", "2": "abged", "3": "abgcd", "4": "fgbc", "5": "afgcd", "6": "afgedc", "7": "abc",
    "8": "abcdefg", "9": "abcdfg",
  ]

  let area: Rectangle
  let title: String
  let remark: String

  func draw(_ time: String, _ color: Color, on canvas: Canvas) {
    canvas.fill(area, radius: 8, Theme.card)
    canvas.write(title, at: Point(area.x + 14, area.y + 24), face: .title, Theme.ink, on: Theme.card)
    canvas.write(remark, at: Point(area.x + 14, area.y + 41), Theme.faint, on: Theme.card)
    var x = area.x + 14
    for character in time {
      if character == "." {
        canvas.fill(Rectangle(x, area.y + 52 + Self.digit.height - 5, 5, 5), color)
        x += 11
      } else {
        draw(character, at: Point(x, area.y + 52), color, on: canvas)
        x += Self.digit.width + 8
      }
    }
  }

  private func draw(_ character: Character, at corner: Point, _ color: Color, on canvas: Canvas) {
    let (width, height, thick) = (Self.digit.width, Self.digit.height, 4)
    let half = height / 2
    let places: [Character: Rectangle] = [
      "a": Rectangle(2, 0, width - 4, thick), "g": Rectangle(2, half - thick / 2, width - 4, thick),
      "d": Rectangle(2, height - thick, width - 4, thick), "f": Rectangle(0, 2, thick, half - 3),
      "b": Rectangle(width - thick, 2, thick, half - 3), "e": Rectangle(0, half + 1, thick, half - 3),
      "c": Rectangle(width - thick, half + 1, thick, half - 3),
    ]
    for (bar, place) in places {
      let isLit = Self.bars[character]?.contains(bar) ?? false
      let area = Rectangle(corner.x + place.x, corner.y + place.y, place.width, place.height)
      canvas.fill(area, isLit ? color : Color(0xF1F4F7))
    }
  }
}
