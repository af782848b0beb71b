/// Where the program made an item or queued a block, for reports of slow callouts.
package struct CallPlace: Sendable {
  /// The address of the file's name, a C string that the program contains; 0 if the place is not known.
  let file: UInt
  let line: UInt32

  package init(_ file: StaticString, _ line: UInt) {
    self.init(file: file.hasPointerRepresentation ? UInt(bitPattern: file.utf8Start) : 0, line: UInt32(clamping: line))
  }

  init(file: UInt = 0, line: UInt32 = 0) { (self.file, self.line) = (file, line) }

  /// For example `Server/main.swift:12`; nil if the place is not known.
  var text: String? {
    UnsafePointer<UInt8>(bitPattern: file).map { "\(String(cString: $0)):\(line)" }
  }
}

/// What reports of slow callouts call a block.
struct BlockName: Sendable {
  let label: String?
  let place: CallPlace

  init(_ label: String?, at place: CallPlace = CallPlace()) { (self.label, self.place) = (label, place) }

  /// The label; without one, the line that queued the block, if it is known.
  var text: String { label ?? place.text.map { "block at \($0)" } ?? "block" }
}
