import XWindow

enum Theme {
  static let ground = Color(0xEEF1F5)
  static let bar = Color(0x22303C)
  static let card = Color(0xFFFFFF)
  static let ink = Color(0x1B2733)
  static let faint = Color(0x76838F)
  static let line = Color(0xDDE3E9)
  static let onBar = Color(0xF4F7FA)
  static let calm = Color(0x2F9E6E)
  static let busy = Color(0xE08A1E)
  static let accent = Color(0x2F6FDE)
  static let accentPressed = Color(0x1F4FA8)
}
