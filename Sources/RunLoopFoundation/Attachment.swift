#if Foundation
  internal import CEventfd
  internal import CRunLoopCore
  internal import CoreFoundation
  internal import Foundation
  internal import RunLoopKit
  internal import RunLoopLibc

  /// What a host has in CFRunLoop: an observer of its passes, a source for the loop's descriptor, and a source for a
  /// counter of its own, the bell. CFRunLoop owns them, each has a `Part`, and the parts own this, and so the host.
  ///
  /// A version-1 source has a descriptor on Linux. CFRunLoop watches it for edges, takes one event a pass, the oldest,
  /// and reads eight bytes of that descriptor. An epoll instance refuses this (EINVAL): CFRunLoop ignores it, and calls
  /// the source nevertheless.
  final class Attachment {
    let host: FoundationHost
    private let mode: CFString
    /// Rung, CFRunLoop does not sleep, and serves the host.
    private let bell: Int32
    // Nil: CFRunLoop has released it.
    private var observer: Unmanaged<CFRunLoopObserver>?
    private var sources: [Int32: Unmanaged<CFRunLoopSource>] = [:]

    /// Attaches a host to the current thread's CFRunLoop, which holds the answer.
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

    /// A thread that ends removes all sources, and may leave the observer to a CFRunLoop that somebody retains.
    var isWhole: Bool { sources.count == 2 }

    /// CFRunLoop calls nothing of it any more.
    func remove() {
      observer.map { CFRunLoopObserverInvalidate($0.takeUnretainedValue()) }
      for source in sources.values { CFRunLoopSourceInvalidate(source.takeUnretainedValue()) }
    }

    func ring() { eventfd_write(bell, 1) }

    /// The number of the descriptor is another file's now: CFRunLoop's epoll instance has lost it.
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
    /// CFRunLoop knows the common modes by the address of their name.
    fileprivate var name: CFString {
      self == .common
        ? kCFRunLoopCommonModes
        : CFStringCreateWithCString(nil, rawValue, CFStringBuiltInEncodings.UTF8.rawValue)
    }
  }

  /// What belongs to one item of CFRunLoop's: sources of one function and one `info` would be equal.
  private final class Part {
    let attachment: Attachment
    /// Nil: the observer's.
    let descriptor: Int32?

    init(of attachment: Attachment, _ descriptor: Int32? = nil) {
      self.attachment = attachment
      self.descriptor = descriptor
    }

    deinit { attachment.forget(descriptor) }

    /// After all other observers, so that what those ask of the loop is not missed.
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
      // It begins as a context of version 0, and tells its version.
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
