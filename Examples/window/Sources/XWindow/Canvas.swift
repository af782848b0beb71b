import CXCB
import Glibc

/// What a window shows, drawn beside the screen and then shown at once.
package final class Canvas {
  package enum Face { case text, title }

  private let display: Display
  private let window: xcb_window_t
  private let size: Size
  private let pixmap: xcb_pixmap_t
  private let context: xcb_gcontext_t
  private let text, title: Font
  private var connection: OpaquePointer { display.connection }

  /// - Throws: If the screen's pixels are not of red, green and blue, or the server has no font.
  package init(_ display: Display, window: xcb_window_t, size: Size) throws {
    guard display.screen.root_depth >= 24 else { throw Display.Failure(description: "the screen has too few colours") }
    self.display = display
    self.window = window
    self.size = size
    text = try Font(display.connection, weight: "medium", size: 12)
    title = try Font(display.connection, weight: "bold", size: 14)
    pixmap = xcb_generate_id(display.connection)
    context = xcb_generate_id(display.connection)
    xcb_create_pixmap(connection, display.screen.root_depth, pixmap, window, UInt16(size.width), UInt16(size.height))
    xcb_create_gc(connection, context, pixmap, XCB_GC_GRAPHICS_EXPOSURES.rawValue, [0])
  }

  /// Copies what was drawn to the window, and sends it.
  package func present() {
    xcb_copy_area(connection, pixmap, window, context, 0, 0, 0, 0, UInt16(size.width), UInt16(size.height))
    xcb_flush(connection)
  }

  package func fill(_ area: Rectangle, _ color: Color) {
    guard area.width > 0, area.height > 0 else { return }
    set(XCB_GC_FOREGROUND, color.value)
    xcb_poly_fill_rectangle(connection, pixmap, context, 1, [area.server])
  }

  /// With round corners.
  package func fill(_ area: Rectangle, radius: Int, _ color: Color) {
    fill(Rectangle(area.x + radius, area.y, area.width - 2 * radius, area.height), color)
    fill(Rectangle(area.x, area.y + radius, area.width, area.height - 2 * radius), color)
    let (right, bottom, side) = (area.x + area.width - 2 * radius, area.y + area.height - 2 * radius, 2 * radius)
    let corners = [(area.x, area.y), (right, area.y), (area.x, bottom), (right, bottom)].map { x, y in
      xcb_arc_t(
        x: Int16(x), y: Int16(y), width: UInt16(side), height: UInt16(side), angle1: 0, angle2: 360 * 64)
    }
    xcb_poly_fill_arc(connection, pixmap, context, UInt32(corners.count), corners)
  }

  package func fill(_ corners: [Point], _ color: Color) {
    set(XCB_GC_FOREGROUND, color.value)
    let points = corners.map { xcb_point_t(x: Int16($0.x), y: Int16($0.y)) }
    xcb_fill_poly(
      connection, pixmap, context, UInt8(XCB_POLY_SHAPE_CONVEX.rawValue), UInt8(XCB_COORD_MODE_ORIGIN.rawValue),
      UInt32(points.count), points)
  }

  /// On a ground of one colour. Latin-1; of a longer text the first 255 characters.
  package func write(_ words: String, at baseline: Point, face: Face = .text, _ color: Color, on ground: Color) {
    set(XCB_GC_FOREGROUND, color.value)
    set(XCB_GC_BACKGROUND, ground.value)
    set(XCB_GC_FONT, font(face).id)
    let characters = latin(words)
    characters.withUnsafeBytes { bytes in
      _ = xcb_image_text_8(
        connection, UInt8(characters.count), pixmap, context, Int16(baseline.x), Int16(baseline.y),
        bytes.bindMemory(to: CChar.self).baseAddress)
    }
  }

  package func width(of words: String, _ face: Face = .text) -> Int {
    latin(words).reduce(0) { $0 + font(face).width(of: $1) }
  }

  package func draw(_ picture: Picture, at corner: Point) {
    xcb_put_image(
      connection, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), pixmap, context, UInt16(picture.size.width),
      UInt16(picture.size.height), Int16(corner.x), Int16(corner.y), 0, display.screen.root_depth,
      UInt32(picture.bytes.count), picture.bytes)
  }

  /// What `body` draws appears inside the area only.
  package func clipped(to area: Rectangle, _ body: () -> Void) {
    clip([area.server])
    body()
    clip([Rectangle(0, 0, size.width, size.height).server])
  }

  private func clip(_ areas: [xcb_rectangle_t]) {
    xcb_set_clip_rectangles(
      connection, UInt8(XCB_CLIP_ORDERING_UNSORTED.rawValue), context, 0, 0, UInt32(areas.count), areas)
  }

  private func set(_ property: xcb_gc_t, _ value: UInt32) {
    xcb_change_gc(connection, context, property.rawValue, [value])
  }

  private func font(_ face: Face) -> Font {
    switch face {
    case .text: text
    case .title: title
    }
  }

  private func latin(_ words: String) -> [UInt8] {
    words.unicodeScalars.prefix(255).map { $0.value < 256 ? UInt8($0.value) : UInt8(ascii: "?") }
  }
}

/// A font of the server.
private struct Font {
  let id: xcb_font_t
  private let firstCharacter: Int
  private let widths: [Int]
  private let commonWidth: Int

  /// The best of what there is; each server has "fixed".
  init(_ connection: OpaquePointer, weight: String, size: Int) throws {
    let names = [
      "-*-helvetica-\(weight)-r-normal--\(size)-*-*-*-*-*-iso8859-1",
      "-misc-fixed-\(weight)-r-semicondensed--13-*-*-*-*-*-iso8859-1", "fixed",
    ]
    for name in names {
      let id = xcb_generate_id(connection)
      let error = xcb_request_check(connection, xcb_open_font_checked(connection, id, UInt16(name.utf8.count), name))
      guard error == nil else {
        free(error)
        continue
      }
      guard let metrics = xcb_query_font_reply(connection, xcb_query_font(connection, id), nil) else { continue }
      defer { free(metrics) }
      self.id = id
      firstCharacter = Int(metrics.pointee.min_char_or_byte2)
      commonWidth = Int(metrics.pointee.max_bounds.character_width)
      let characters = UnsafeBufferPointer(
        start: xcb_query_font_char_infos(metrics), count: Int(xcb_query_font_char_infos_length(metrics)))
      widths = characters.map { Int($0.character_width) }
      return
    }
    throw Display.Failure(description: "the server has no font")
  }

  /// A font whose characters are all the same tells no widths.
  func width(of character: UInt8) -> Int {
    let index = Int(character) - firstCharacter
    return widths.indices.contains(index) ? widths[index] : commonWidth
  }
}

extension Rectangle {
  fileprivate var server: xcb_rectangle_t {
    xcb_rectangle_t(x: Int16(x), y: Int16(y), width: UInt16(max(0, width)), height: UInt16(max(0, height)))
  }
}
