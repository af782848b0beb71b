/// Pixels, from the upper left corner.
package struct Point: Equatable, Sendable {
  package var x, y: Int

  package init(_ x: some BinaryInteger, _ y: some BinaryInteger) { (self.x, self.y) = (Int(x), Int(y)) }
}

package struct Size: Equatable, Sendable {
  package let width, height: Int

  package init(_ width: Int, _ height: Int) { (self.width, self.height) = (width, height) }
}

package struct Rectangle: Equatable, Sendable {
  package var x, y, width, height: Int

  package init(_ x: Int, _ y: Int, _ width: Int, _ height: Int) {
    (self.x, self.y, self.width, self.height) = (x, y, width, height)
  }

  package func contains(_ point: Point) -> Bool {
    point.x >= x && point.x < x + width && point.y >= y && point.y < y + height
  }

  package func inset(by distance: Int) -> Rectangle {
    Rectangle(x + distance, y + distance, width - 2 * distance, height - 2 * distance)
  }
}

/// Red, green and blue, a byte each.
package struct Color: Equatable, Sendable {
  package let value: UInt32

  package init(_ value: UInt32) { self.value = value }
}

/// Rows of pixels from the top, as the server takes them: blue, green, red, nothing.
package struct Picture: Sendable {
  package let size: Size
  package let bytes: [UInt8]

  package init(_ size: Size, color: (_ x: Int, _ y: Int) -> Color) {
    self.size = size
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size.width * size.height * 4)
    for y in 0..<size.height {
      for x in 0..<size.width {
        let value = color(x, y).value
        bytes += [UInt8(value & 255), UInt8(value >> 8 & 255), UInt8(value >> 16 & 255), 0]
      }
    }
    self.bytes = bytes
  }
}
