extension String {
  var trimmed: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
  func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
  func aligned(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
