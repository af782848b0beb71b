import CoreFoundation
import Foundation
import RunLoopKit

import class RunLoopKit.RunLoop

func coreName(_ text: String) -> CFString {
  CFStringCreateWithCString(nil, text, CFStringBuiltInEncodings.UTF8.rawValue)
}

/// CFRunLoop of the thread that has made it, run in one mode.
final class CoreLoop {
  let mode: CFString
  /// Passes that got as far as to sleep, in all modes.
  private(set) var sleeps = 0
  private var observer: CFRunLoopObserver!
  private var sources: [CFRunLoopSource] = []

  init(mode: CFString = kCFRunLoopDefaultMode) {
    self.mode = mode
    observer = CFRunLoopObserverCreateWithHandler(nil, CFRunLoopActivity.beforeWaiting.rawValue, true, 0) {
      [unowned self] _, _ in sleeps += 1
    }
    CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, kCFRunLoopCommonModes)
    CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, mode)
  }

  deinit {
    CFRunLoopObserverInvalidate(observer)
    sources.forEach { CFRunLoopSourceInvalidate($0) }
  }

  /// Until a source has been served, or the main dispatch queue. Without a wait: one pass.
  @discardableResult
  func turn(mayWait: Bool = true) -> CFRunLoopRunResult { CFRunLoopRunInMode(mode, mayWait ? 1e10 : 0, true) }

  /// Waits for events only.
  func turn(until condition: () -> Bool) { while !condition() { turn() } }

  /// A timer of CFRunLoop's own, which ends the run that it fires in.
  func onTimeout(milliseconds: Double, _ body: @escaping () -> Void) {
    let date = CFAbsoluteTimeGetCurrent() + milliseconds / 1000
    let timer = CFRunLoopTimerCreateWithHandler(nil, date, 0, 0, 0) { _ in
      body()
      CFRunLoopStop(CFRunLoopGetCurrent())
    }
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, mode)
  }

  /// Runs until a timer of its own; how often it was about to sleep.
  func runForAWhile() -> Int {
    var isOver = false
    onTimeout(milliseconds: 20) { isOver = true }
    let before = sleeps
    turn { isOver }
    return sleeps - before
  }

  /// A source of CFRunLoop's own, performed in each pass until it answers false.
  func onEachPass(order: Int = 0, _ body: @escaping () -> Bool) {
    let load = Load(body)
    var context = CFRunLoopSourceContext()
    context.info = Unmanaged.passUnretained(load).toOpaque()
    context.retain = { UnsafeRawPointer(Unmanaged<Load>.fromOpaque($0!).retain().toOpaque()) }
    context.release = { Unmanaged<Load>.fromOpaque($0!).release() }
    context.perform = { Unmanaged<Load>.fromOpaque($0!).takeUnretainedValue().perform() }
    let source = CFRunLoopSourceCreate(nil, order, &context)!
    load.source = source
    sources.append(source)
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, mode)
    CFRunLoopSourceSignal(source)
  }
}

private final class Load {
  private let body: () -> Bool
  unowned var source: CFRunLoopSource!

  init(_ body: @escaping () -> Bool) { self.body = body }

  func perform() { if body() { CFRunLoopSourceSignal(source) } else { CFRunLoopSourceInvalidate(source) } }
}
