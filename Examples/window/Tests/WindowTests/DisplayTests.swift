import CXCB
import Foundation
import XCTest
import XWindow

import class RunLoopKit.RunLoop

/// Events that are in libxcb's queue while the descriptor is silent.
final class DisplayTests: XCTestCase {
  /// A reply has read them. The loop must not sleep.
  func test_eventsThatAReplyHasRead() throws {
    let (screen, display, window) = try Self.connect()
    defer { withExtendedLifetime(screen) {} }
    var received: [UInt32] = []
    display.onEvent = { event in if case .message(let number) = event { received.append(number) } }
    for number: UInt32 in 1...3 { Self.send(number, to: window, display) }
    Self.roundTrip(display)
    XCTAssertFalse(Self.isReadable(display), "the reply has read what came before it")
    XCTAssertEqual(try RunLoop.main.run(until: received.count == 3, timeout: .seconds(30)), .met)
    XCTAssertEqual(received, [1, 2, 3])
  }

  /// A handler of what the descriptor has brought runs the loop nested, as for a drag.
  func test_eventsWithinAHandler() throws { try followFromFirst(isInQueue: false) }

  /// The same for what a reply has read.
  func test_eventsWithinAHandlerOfAQueuedOne() throws { try followFromFirst(isInQueue: true) }

  /// The nested run receives what comes meanwhile, from the descriptor and from the queue.
  private func followFromFirst(isInQueue: Bool) throws {
    let (screen, display, window) = try Self.connect()
    defer { withExtendedLifetime(screen) {} }
    var order: [UInt32] = []
    var results: [RunLoop.ConditionResult?] = []
    display.onEvent = { event in
      guard case .message(let number) = event else { return }
      order.append(number)
      guard number == 1 else { return }
      results.append(Self.follow(until: order.last == 2) { Self.send(2, to: window, display) })
      results.append(
        Self.follow(until: order.last == 3) {
          Self.send(3, to: window, display)
          Self.roundTrip(display)
        })
    }
    while try RunLoop.main.run(for: .zero) == .handledSource {}
    Self.send(1, to: window, display)
    if isInQueue { Self.roundTrip(display) } else { Self.awaitReadable(display) }
    XCTAssertEqual(try RunLoop.main.run(until: results.count == 2, timeout: .seconds(90)), .met)
    XCTAssertEqual(order, [1, 2, 3])
    XCTAssertEqual(results, [.met, .met])
  }

  /// Runs in the tracking mode. What is sent is sent by a timer: after the source has found nothing.
  private static func follow(
    until condition: @autoclosure () -> Bool, send: @escaping () -> Void
  ) -> RunLoop.ConditionResult? {
    do {
      try RunLoop.main.assumeOnLoop { local in _ = try local.timer(after: .zero, in: .tracking) { _ in send() } }
      return try RunLoop.main.run(until: condition(), in: .tracking, timeout: .seconds(30))
    } catch {
      XCTFail("\(error)")
      return nil
    }
  }

  /// The connection's end is told once, and its members leave the loop.
  func test_theServerGoes() throws {
    var (screen, display, _): (Screen?, Display, xcb_window_t) = try Self.connect()
    var ends = 0
    display.onEnd = { ends += 1 }
    XCTAssertNotNil(screen)
    screen = nil
    XCTAssertEqual(try RunLoop.main.run(until: ends == 1, timeout: .seconds(30)), .met)
    withExtendedLifetime(display) {}
  }

  private static func connect() throws -> (Screen, Display, xcb_window_t) {
    let screen = try Screen()
    setenv("DISPLAY", screen.name, 1)
    let display = try Display(on: .main)
    let window = display.makeWindow(Size(10, 10), title: "test")
    roundTrip(display)
    return (screen, display, window)
  }

  /// By way of the server.
  private static func send(_ number: UInt32, to window: xcb_window_t, _ display: Display) {
    var message = xcb_client_message_event_t()
    message.response_type = UInt8(XCB_CLIENT_MESSAGE)
    message.format = 32
    message.window = window
    message.data.data32.0 = number
    withUnsafeBytes(of: &message) { bytes in
      _ = xcb_send_event(display.connection, 0, window, 0, bytes.bindMemory(to: CChar.self).baseAddress)
    }
    xcb_flush(display.connection)
  }

  /// Returns after all that the server has done before it.
  private static func roundTrip(_ display: Display) {
    free(xcb_get_input_focus_reply(display.connection, xcb_get_input_focus(display.connection), nil))
  }

  private static func isReadable(_ display: Display) -> Bool { awaitReadable(display, milliseconds: 0) }

  @discardableResult
  private static func awaitReadable(_ display: Display, milliseconds: Int32 = 30_000) -> Bool {
    var entry = pollfd(fd: xcb_get_file_descriptor(display.connection), events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, milliseconds) > 0
  }
}
