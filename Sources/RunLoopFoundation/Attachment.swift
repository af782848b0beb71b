#if Foundation
  internal import CEventfd
  internal import CRunLoopCore
  internal import CoreFoundation
  internal import Foundation
  internal import RunLoopKit
  internal import RunLoopLibc

  /// What a host adds to CFRunLoop: an observer of CFRunLoop's passes, a source for the loop's descriptor, and a source
  /// for the bell, an eventfd. CFRunLoop retains these three items, each item retains its `Part`, the parts retain the
  /// `Attachment`, and the `Attachment` retains the host.
  ///
  /// On Linux a version-1 source has a descriptor. CFRunLoop watches the descriptor edge-triggered, takes the oldest
  /// event in each pass, and reads eight bytes from its descriptor. The loop's descriptor is an epoll instance, so this
  /// read fails with EINVAL. CFRunLoop ignores the error, and calls the source nevertheless.
  final class Attachment {
    let host: FoundationHost
    private let mode: CFString
    /// While it is readable CFRunLoop does not sleep, and serves the host.
    private let bell: Int32
    // Nil once CFRunLoop has released it.
    private var observer: Unmanaged<CFRunLoopObserver>?
    private var sources: [Int32: Unmanaged<CFRunLoopSource>] = [:]

    /// Attaches a host to the current thread's CFRunLoop, which retains the result.
    static func make(
      of host: FoundationHost, descriptor: Int32, mode: Foundation.RunLoop.Mode
    ) throws(RunLoopError) -> Attachment {
      let attachment = try Attachment(of: host, mode: mode)
      attachment.add(descriptor)
      return attachment
    }

    private init(of host: FoundationHost, mode: Foundation.RunLoop.Mode) throws(RunLoopError) {
      bell = rlc_descriptor_adopt(eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)))
      guard bell >= 0 else { throw RunLoopError(.system, code: -bell, call: "eventfd") }
      self.host = host
      self.mode = mode.name
    }

    deinit { close(bell) }

    private func add(_ descriptor: Int32) {
      let observer = Part(of: self).makeObserver()
      self.observer = .passUnretained(observer)
      CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, mode)
      addSource(of: descriptor)
      addSource(of: bell)
    }

    private func addSource(of descriptor: Int32) {
      let source = Part(of: self, descriptor).makeSource()
      sources[descriptor] = .passUnretained(source)
      CFRunLoopAddSource(CFRunLoopGetCurrent(), source, mode)
    }

    /// False once the end of the thread has removed the sources. The observer remains if other code retains the
    /// CFRunLoop.
    var isWhole: Bool { sources.count == 2 }

    /// Removes the items: CFRunLoop calls none of them any more.
    func remove() {
      observer.map { CFRunLoopObserverInvalidate($0.takeUnretainedValue()) }
      for source in sources.values { CFRunLoopSourceInvalidate(source.takeUnretainedValue()) }
    }

    func ring() { eventfd_write(bell, 1) }

    /// Makes CFRunLoop watch a descriptor again. Call it when the number belongs to a new file: CFRunLoop's epoll
    /// instance does not watch that file.
    func watchAgain(_ descriptor: Int32) {
      guard let source = sources[descriptor]?.takeUnretainedValue() else { return }
      CFRunLoopRemoveSource(CFRunLoopGetCurrent(), source, mode)
      CFRunLoopAddSource(CFRunLoopGetCurrent(), source, mode)
    }

    fileprivate func forget(_ descriptor: Int32?) {
      if let descriptor { sources[descriptor] = nil } else { observer = nil }
    }
  }

  extension Foundation.RunLoop.Mode {
    /// CFRunLoop recognises the common modes by the address of their name.
    fileprivate var name: CFString {
      self == .common
        ? kCFRunLoopCommonModes
        : CFStringCreateWithCString(nil, rawValue, CFStringBuiltInEncodings.UTF8.rawValue)
    }
  }

  /// The `info` of one item in CFRunLoop. Each item has its own `Part`, because CFRunLoop takes sources with the same
  /// functions and the same `info` for equal.
  private final class Part {
    let attachment: Attachment
    /// Nil for the observer.
    let descriptor: Int32?

    init(of attachment: Attachment, _ descriptor: Int32? = nil) {
      self.attachment = attachment
      self.descriptor = descriptor
    }

    deinit { attachment.forget(descriptor) }

    /// CFRunLoop calls this observer after all others, so that the host finds the work that they have given the loop.
    func makeObserver() -> CFRunLoopObserver {
      var context = CFRunLoopObserverContext()
      context.info = info
      context.retain = retainPart
      context.release = releasePart
      let activities = CFRunLoopActivity.beforeSources.rawValue | CFRunLoopActivity.beforeWaiting.rawValue
      return CFRunLoopObserverCreate(nil, activities, true, .max, observe, &context)
    }

    func makeSource() -> CFRunLoopSource {
      var context = CFRunLoopSourceContext1()
      context.version = 1
      context.info = info
      context.retain = retainPart
      context.release = releasePart
      context.getPort = { Part.of($0).descriptor ?? -1 }
      context.perform = { Part.of($0).attachment.host.serve() }
      // The parameter is declared as a context of version 0. CFRunLoop reads the actual version from its first field.
      return withUnsafeMutablePointer(to: &context) {
        $0.withMemoryRebound(to: CFRunLoopSourceContext.self, capacity: 1) { CFRunLoopSourceCreate(nil, 0, $0) }
      }
    }

    private var info: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    static func of(_ info: UnsafeMutableRawPointer?) -> Part { Unmanaged<Part>.fromOpaque(info!).takeUnretainedValue() }
  }

  private func retainPart(_ info: UnsafeRawPointer?) -> UnsafeRawPointer? {
    UnsafeRawPointer(Unmanaged<Part>.fromOpaque(info!).retain().toOpaque())
  }

  private func releasePart(_ info: UnsafeRawPointer?) { Unmanaged<Part>.fromOpaque(info!).release() }

  private func observe(
    _ observer: CFRunLoopObserver?, _ activity: CFRunLoopActivity, _ info: UnsafeMutableRawPointer?
  ) {
    let host = Part.of(info).attachment.host
    if activity == .beforeWaiting { host.sleepBegins() } else { host.passBegins() }
  }
#endif
