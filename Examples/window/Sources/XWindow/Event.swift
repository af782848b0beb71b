import CXCB
import Glibc

/// What a window is told.
package enum Event: Equatable {
  case exposed
  /// The left button.
  case pressed(Point)
  case dragged(Point)
  case released(Point)
  /// The wheel: rows, down is positive.
  case scrolled(Int)
  /// The symbol of the key without modifiers: Latin-1 for letters.
  case key(UInt32)
  case closeRequested
  /// A message of another client, by its first number.
  case message(UInt32)
}

/// Makes events of libxcb's.
struct Translator {
  let protocols, deletion: xcb_atom_t
  private let firstKey: UInt8
  private let symbolsPerKey: Int
  private let symbols: [UInt32]

  /// Asks the server. Blocks until it has answered: nothing is drawn yet.
  init(_ connection: OpaquePointer) {
    // All questions first, then the answers: one way there and back.
    let names = ["WM_PROTOCOLS", "WM_DELETE_WINDOW"].map { (name: String) in
      xcb_intern_atom(connection, 0, UInt16(name.utf8.count), name)
    }
    let setup = xcb_get_setup(connection).pointee
    let count = setup.max_keycode - setup.min_keycode + 1
    let question = xcb_get_keyboard_mapping(connection, setup.min_keycode, count)
    let atoms = names.map { cookie -> xcb_atom_t in
      let reply = xcb_intern_atom_reply(connection, cookie, nil)
      defer { free(reply) }
      return reply?.pointee.atom ?? 0
    }
    (protocols, deletion) = (atoms[0], atoms[1])
    firstKey = setup.min_keycode
    guard let mapping = xcb_get_keyboard_mapping_reply(connection, question, nil) else {
      (symbolsPerKey, symbols) = (0, [])
      return
    }
    defer { free(mapping) }
    symbolsPerKey = Int(mapping.pointee.keysyms_per_keycode)
    let length = Int(xcb_get_keyboard_mapping_keysyms_length(mapping))
    symbols = Array(UnsafeBufferPointer(start: xcb_get_keyboard_mapping_keysyms(mapping), count: length))
  }

  /// Nil: nothing that concerns a window of ours.
  func event(_ event: UnsafeMutablePointer<xcb_generic_event_t>) -> Event? {
    let bytes = UnsafeRawPointer(event)
    // The highest bit says that another client has sent it.
    switch Int32(event.pointee.response_type & 0x7f) {
    case XCB_EXPOSE:
      return bytes.load(as: xcb_expose_event_t.self).count == 0 ? .exposed : nil
    case XCB_BUTTON_PRESS:
      let press = bytes.load(as: xcb_button_press_event_t.self)
      switch press.detail {
      case 1: return .pressed(Point(press.event_x, press.event_y))
      case 4: return .scrolled(-1)
      case 5: return .scrolled(1)
      default: return nil
      }
    case XCB_BUTTON_RELEASE:
      let release = bytes.load(as: xcb_button_release_event_t.self)
      return release.detail == 1 ? .released(Point(release.event_x, release.event_y)) : nil
    case XCB_MOTION_NOTIFY:
      let motion = bytes.load(as: xcb_motion_notify_event_t.self)
      return .dragged(Point(motion.event_x, motion.event_y))
    case XCB_KEY_PRESS:
      let index = Int(bytes.load(as: xcb_key_press_event_t.self).detail - firstKey) * symbolsPerKey
      return symbols.indices.contains(index) ? .key(symbols[index]) : nil
    case XCB_CLIENT_MESSAGE:
      let message = bytes.load(as: xcb_client_message_event_t.self)
      let first = message.data.data32.0
      return message.type == protocols && first == deletion ? .closeRequested : .message(first)
    default:
      return nil
    }
  }
}
