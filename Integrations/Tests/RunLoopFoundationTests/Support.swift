import CoreFoundation
import Foundation
import RunLoopKit

import class RunLoopKit.RunLoop

/// A value that threads share.
final class Box<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var stored: Value

  init(_ value: Value) { stored = value }

  var value: Value {
    get { update { $0 } }
    set { update { $0 = newValue } }
  }

  func update<Result>(_ body: (inout Value) -> Result) -> Result { lock.withLock { body(&stored) } }
}

/// What has happened, in order.
final class Log: @unchecked Sendable {
  private let texts = Box<[String]>([])

  var value: [String] { texts.value }

  func note(_ text: String) { texts.update { $0.append(text) } }

  func clear() { texts.value = [] }
}

/// A thread of its own, with a loop or without.
final class OtherThread {
  private var id = pthread_t()

  init(_ body: @escaping @Sendable () -> Void) {
    final class Start {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let status = pthread_create(
      &id, nil,
      {
        Unmanaged<Start>.fromOpaque($0!).takeRetainedValue().body()
        return nil
      }, Unmanaged.passRetained(Start(body)).toOpaque())
    precondition(status == 0, "pthread_create: \(status)")
  }

  func join() { pthread_join(id, nil) }
}

/// A thread that is waited for.
func onOtherThread(_ body: @escaping @Sendable () -> Void) { OtherThread(body).join() }

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
