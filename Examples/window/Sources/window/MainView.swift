import XWindow

/// Where things are, and how they look.
@MainActor struct MainView {
  let canvas: Canvas
  let gallery = Gallery(Rectangle(24, 76, 284, 328))
  let button = Rectangle(348, 318, 268, 38)
  var isPressed = false

  private let defaultClock = ClockFace(
    area: Rectangle(340, 68, 284, 100), title: "A clock in the default mode", remark: "stands still while you drag")
  private let commonClock = ClockFace(
    area: Rectangle(340, 180, 284, 100), title: "A clock in the common modes", remark: "goes on")

  init(canvas: Canvas) { self.canvas = canvas }

  func draw(_ labels: Labels, frame: Int, isCounting: Bool) {
    canvas.fill(Rectangle(0, 0, MainWindow.size.width, MainWindow.size.height), Theme.ground)
    let isTracking = labels[.mode] == "tracking"
    gallery.draw(on: canvas)
    defaultClock.draw(labels[.defaultClock], isTracking ? Theme.busy : Theme.ink, on: canvas)
    commonClock.draw(labels[.commonClock], Theme.calm, on: canvas)
    drawButton(labels, frame: frame, isCounting: isCounting)
    drawBar(labels, isTracking: isTracking)
    canvas.present()
  }

  private func drawBar(_ labels: Labels, isTracking: Bool) {
    canvas.fill(Rectangle(0, 0, MainWindow.size.width, 52), Theme.bar)
    canvas.write("RunLoopKit", at: Point(24, 31), face: .title, Theme.onBar, on: Theme.bar)
    let made = labels[.made].isEmpty ? "0" : labels[.made]
    let shown = labels[.shown].isEmpty ? "0" : labels[.shown]
    let count = "pictures made \(made), shown \(shown)"
    canvas.write(count, at: Point(124, 31), Color(0xA9B6C2), on: Theme.bar)
    let words = "mode: \(labels[.mode])"
    let width = canvas.width(of: words) + 28
    let pill = Rectangle(MainWindow.size.width - 16 - width, 14, width, 24)
    let color = isTracking ? Theme.busy : Theme.calm
    canvas.fill(pill, radius: 12, color)
    canvas.write(words, at: Point(pill.x + 14, 30), Theme.onBar, on: color)
  }

  private func drawButton(_ labels: Labels, frame: Int, isCounting: Bool) {
    canvas.fill(Rectangle(340, 292, 284, 120), radius: 8, Theme.card)
    let color = isPressed ? Theme.accentPressed : isCounting ? Theme.faint : Theme.accent
    canvas.fill(button, radius: 6, color)
    let words = "Count primes in a task"
    let x = button.x + (button.width - canvas.width(of: words, .title)) / 2
    canvas.write(words, at: Point(x, button.y + 24), face: .title, Theme.onBar, on: color)
    let text = labels[.primes].isEmpty ? "its result arrives on the main actor" : "primes: \(labels[.primes])"
    canvas.write(text, at: Point(button.x + 4, button.y + 60), Theme.faint, on: Theme.card)
    // A light that runs to and fro, a frame at a time.
    let track = Rectangle(button.x + 4, button.y + 72, button.width - 8, 4)
    canvas.fill(track, Theme.line)
    guard isCounting else { return }
    let way = track.width - 48
    let step = frame * 6 % (2 * way)
    canvas.fill(Rectangle(track.x + (step < way ? step : 2 * way - step), track.y, 48, 4), Theme.accent)
  }
}
