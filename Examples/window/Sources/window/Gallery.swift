import XWindow

/// A list of pictures that is scrolled by dragging it. Makes no picture before its row has been seen.
@MainActor final class Gallery {
  static let count = 60
  static let rowHeight = 56

  let area: Rectangle
  private(set) var offset = 0
  private var pictures: [Int: Picture] = [:]
  private var wanted: Set<Int> = []

  init(_ area: Rectangle) { self.area = area }

  /// As far as there are rows.
  func scroll(to offset: Int) {
    self.offset = min(max(0, offset), Self.count * Self.rowHeight - area.height)
  }

  func show(_ picture: Picture, in row: Int) { pictures[row] = picture }

  var shownCount: Int { pictures.count }

  private var visibleRows: Range<Int> {
    offset / Self.rowHeight..<min(Self.count, (offset + area.height - 1) / Self.rowHeight + 1)
  }

  /// The rows that are seen for the first time.
  func takeNewRows() -> [Int] { visibleRows.filter { wanted.insert($0).inserted } }

  func draw(on canvas: Canvas) {
    canvas.fill(area.inset(by: -8), radius: 8, Theme.card)
    canvas.clipped(to: area) {
      for row in visibleRows { draw(row, on: canvas) }
      let length = area.height * area.height / (Self.count * Self.rowHeight)
      let way = offset * (area.height - length) / (Self.count * Self.rowHeight - area.height)
      canvas.fill(Rectangle(area.x + area.width - 6, area.y + way, 5, length), radius: 2, Theme.faint)
    }
  }

  private func draw(_ row: Int, on canvas: Canvas) {
    let top = area.y + row * Self.rowHeight - offset
    let corner = Point(area.x + 4, top + 8)
    if let picture = pictures[row] {
      canvas.draw(picture, at: corner)
    } else {
      canvas.fill(Rectangle(corner.x, corner.y, PictureMaker.size.width, PictureMaker.size.height), Theme.line)
    }
    let x = corner.x + PictureMaker.size.width + 14
    canvas.write("Picture \(row + 1)", at: Point(x, top + 26), face: .title, Theme.ink, on: Theme.card)
    let remark = pictures[row] == nil ? "waits for the default mode" : "a sun over hills"
    canvas.write(remark, at: Point(x, top + 42), Theme.faint, on: Theme.card)
    canvas.fill(Rectangle(area.x, top + Self.rowHeight - 1, area.width - 12, 1), Theme.line)
  }
}
