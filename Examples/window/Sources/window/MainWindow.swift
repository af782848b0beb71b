import Glibc
import RunLoopKit
import XWindow

/// The window, and what happens in it. All of it is the main actor's, and the main loop calls it.
@MainActor final class MainWindow {
  private struct Drag {
    let start: Point
    let offset: Int
  }

  static let size = Size(640, 432)
  private let display: Display
  private let maker: PictureMaker
  private var view: MainView
  private var link: RunLoop.DisplayLink?
  private var labels = Labels()
  private let start = RunLoop.Instant.now
  private var drag: Drag?
  private var isCounting = false
  private var hasSpoken = false

  init() throws {
    display = try Display(on: .main)
    maker = try PictureMaker()
    let window = display.makeWindow(Self.size, title: "A window on a run loop")
    view = MainView(canvas: try Canvas(display, window: window, size: Self.size))
    labels[.mode] = "default"
    try RunLoop.main.assumeOnLoop { local in try join(local) }
    display.onEvent = { [unowned self] event in handle(event) }
    display.onEnd = { [unowned self] in
      Report.failure(Display.Failure(description: "the X server has gone"))
      stop()
    }
  }

  func end() throws {
    link?.invalidate()
    try maker.end()
  }

  private func join(_ local: borrowing RunLoop.Local) throws {
    let tick = Duration.milliseconds(100)
    try local.timer(after: .zero, interval: tick, in: .default) { [unowned self] _ in change(.defaultClock, to: time) }
    try local.timer(after: .zero, interval: tick, in: .common) { [unowned self] _ in change(.commonClock, to: time) }
    // Common: what is dragged moves as well.
    link = try local.displayLink(in: .common) { [unowned self] _, frame in draw(frame) }
    link?.isPaused = true  // until there is something to draw on
  }

  private var time: String {
    let tenths = start.duration(to: .now) / Duration.milliseconds(100)
    return "\(Int(tenths) / 10).\(Int(tenths) % 10)"
  }

  private func change(_ name: Labels.Name, to text: String) {
    labels[name] = text
    setNeedsDisplay()
  }

  /// The next frame draws. Until then the window costs nothing.
  private func setNeedsDisplay() {
    if hasSpoken { link?.isPaused = false }
  }

  private func handle(_ event: Event) {
    switch event {
    case .exposed: appear()
    case .pressed(let point) where view.gallery.area.contains(point): follow(from: point)
    case .pressed(let point): press(view.button.contains(point))
    case .dragged(let point): pull(to: point)
    case .released(let point): release(at: point)
    case .scrolled(let rows): scroll(to: view.gallery.offset + rows * Gallery.rowHeight)
    case .key(let symbol) where symbol == UInt32(UInt8(ascii: "q")): stop()
    case .closeRequested: stop()
    case .key, .message: break
    }
  }

  private func appear() {
    if !hasSpoken {
      for (name, area) in [("list", view.gallery.area), ("button", view.button)] {
        Report.say("\(name) at \(area.x) \(area.y) \(area.width) \(area.height)")
      }
    }
    hasSpoken = true
    makePictures()
    setNeedsDisplay()
  }

  /// Runs the loop until the button is released. It is called by the handler of the press, which takes as long as the
  /// drag: all that happens meanwhile happens in the tracking mode.
  private func follow(from point: Point) {
    guard drag == nil else { return }
    drag = Drag(start: point, offset: view.gallery.offset)
    change(.mode, to: "tracking")
    do {
      let result = try RunLoop.main.run(until: drag == nil, in: .tracking)
      // A stop ends the innermost run. This one is meant for the program's.
      if result == .stopped { RunLoop.main.stop() }
    } catch {
      Report.failure(error)
      RunLoop.main.stop()
    }
    drag = nil
    change(.mode, to: "default")
  }

  private func pull(to point: Point) {
    if let drag { scroll(to: drag.offset + drag.start.y - point.y) }
  }

  private func release(at point: Point) {
    pull(to: point)
    drag = nil
    if view.isPressed, view.button.contains(point) { countPrimes() }
    press(false)
  }

  private func press(_ isPressed: Bool) {
    view.isPressed = isPressed
    setNeedsDisplay()
  }

  private func scroll(to offset: Int) {
    view.gallery.scroll(to: offset)
    makePictures()
    setNeedsDisplay()
  }

  private func makePictures() {
    for row in view.gallery.takeNewRows() {
      do {
        try maker.make(row) { [self] in
          change(.made, to: "\((Int(labels[.made]) ?? 0) + 1)")
        } show: { [self] picture in
          view.gallery.show(picture, in: row)
          change(.shown, to: "\(view.gallery.shownCount)")
        }
      } catch {
        Report.failure(error)
      }
    }
  }

  private func countPrimes() {
    guard !isCounting else { return }
    isCounting = true
    change(.primes, to: "counting")
    Task {
      let count = await Primes.count(below: 2_000_000)
      // Here again: on the main actor, which is on the main loop.
      isCounting = false
      change(.primes, to: "\(count) below 2000000")
    }
  }

  private func draw(_ frame: RunLoop.DisplayLink.Frame) {
    view.draw(labels, frame: frame.number, isCounting: isCounting)
    labels.report()
    // An animation goes on by itself; all else is drawn once.
    link?.isPaused = !isCounting
  }

  private func stop() { RunLoop.main.stop() }
}
