import CXCB
import Glibc
import RunLoopKit

/// A connection to an X server, served by a run loop in its common modes.
///
/// A descriptor alone is not enough. libxcb has a queue of its own, and reads the socket also while it waits for a reply
/// or for room to send. Events that it has met there are in the queue, the descriptor is silent, and a loop that trusts
/// the descriptor sleeps with events at hand. Three members share the work:
///
/// - The *descriptor's source* only says that there is something. It handles nothing, since a descriptor's source is not
///   called within its own callout: a handler that runs the loop nested, to follow a drag, would hear nothing more.
/// - An *observer* before each wait sends what is unsent, and then looks at the queue: in this order, since sending may
///   read. It handles nothing either, for the same reason.
/// - A *signalled source* handles events, one in each pass. A nested run may perform a source within its own callout,
///   so that a drag's events come through while the press that began it is still being handled.
///
/// Idle blocks (`performWhenIdle`) run after the observer. One that uses the connection calls `RunLoop.wakeUp()`, so that
/// the observer is called again.
package final class Display {
  package struct Failure: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
  }

  package let connection: OpaquePointer
  package let screen: xcb_screen_t
  /// Called on the loop's thread with each event of the window.
  package var onEvent: (Event) -> Void = { _ in }
  /// Called once when the server has gone.
  package var onEnd: () -> Void = {}

  private let loop: RunLoop
  private var items: [RunLoop.Item] = []
  private var handler: RunLoop.Source?
  /// Taken from libxcb's queue by the observer, and older than what is left there.
  private var taken: UnsafeMutablePointer<xcb_generic_event_t>?
  private var translator: Translator

  /// Connects to the server that `DISPLAY` names. Call it on the loop's thread.
  package init(on loop: RunLoop) throws {
    guard let connection = xcb_connect(nil, nil) else { throw Failure(description: "no memory for a connection") }
    let error = xcb_connection_has_error(connection)
    guard error == 0, let screen = xcb_setup_roots_iterator(xcb_get_setup(connection)).data?.pointee else {
      xcb_disconnect(connection)
      throw Failure(
        description: "no X server: DISPLAY is \(getenv("DISPLAY").map { String(cString: $0) } ?? "not set")")
    }
    self.connection = connection
    self.screen = screen
    self.loop = loop
    translator = Translator(connection)
    try loop.assumeOnLoop { local in try join(local) }
  }

  deinit {
    for item in items { item.invalidate() }
    free(taken)
    xcb_disconnect(connection)
  }

  private func join(_ local: borrowing RunLoop.Local) throws {
    let handler = try local.source(in: .common) { [unowned self] _ in handleOne() }
    self.handler = handler
    let descriptor = try local.fileDescriptorSource(
      fileDescriptor: xcb_get_file_descriptor(connection), interest: .readable, in: .common
    ) { _, _ in handler.signal() }
    // After all others, whose requests it sends.
    let observer = try local.observer(.beforeWaiting, order: .max, in: .common) { [unowned self] _, _ in settle() }
    items = [handler, descriptor, observer]
  }

  /// Before the loop sleeps: nothing is left to send, and no event is left in the queue.
  private func settle() {
    xcb_flush(connection)
    if taken == nil { taken = xcb_poll_for_queued_event(connection) }
    guard taken != nil else { return }
    handler?.signal()
    loop.wakeUp()  // a signal alone does not keep the loop from sleeping
  }

  private func handleOne() {
    guard let event = taken ?? xcb_poll_for_event(connection) else {
      if xcb_connection_has_error(connection) != 0 { lose() }
      return
    }
    taken = nil
    defer { free(event) }
    // There may be more. Said before the call, so that a nested run inside it goes on with them.
    handler?.signal()
    if let event = translator.event(event) { onEvent(event) }
  }

  private func lose() {
    for item in items { item.invalidate() }
    onEnd()
  }

  /// A window in the middle of nothing: without a window manager, at the corner of the screen.
  package func makeWindow(_ size: Size, title: String) -> xcb_window_t {
    let window = xcb_generate_id(connection)
    let events =
      XCB_EVENT_MASK_EXPOSURE.rawValue | XCB_EVENT_MASK_BUTTON_PRESS.rawValue | XCB_EVENT_MASK_BUTTON_RELEASE.rawValue
      | XCB_EVENT_MASK_BUTTON_MOTION.rawValue | XCB_EVENT_MASK_KEY_PRESS.rawValue
    // Without a background the server clears nothing, and nothing flickers.
    let values = [XCB_BACK_PIXMAP_NONE.rawValue, events]
    xcb_create_window(
      connection, UInt8(XCB_COPY_FROM_PARENT), window, screen.root, 0, 0, UInt16(size.width), UInt16(size.height), 0,
      UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), screen.root_visual,
      XCB_CW_BACK_PIXMAP.rawValue | XCB_CW_EVENT_MASK.rawValue, values)
    set(window, XCB_ATOM_WM_NAME.rawValue, XCB_ATOM_STRING.rawValue, Array(title.utf8))
    // A window manager asks for the window's end instead of cutting the connection.
    set(window, translator.protocols, XCB_ATOM_ATOM.rawValue, [translator.deletion])
    xcb_map_window(connection, window)
    return window
  }

  private func set<Value: BitwiseCopyable>(
    _ window: xcb_window_t, _ property: xcb_atom_t, _ type: xcb_atom_t, _ values: [Value]
  ) {
    xcb_change_property(
      connection, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window, property, type,
      UInt8(MemoryLayout<Value>.size * 8), UInt32(values.count), values)
  }
}
