internal import RunLoopLibc

/// The address of a mode's state. Items and ports refer to the mode by it; only the loop reads the state.
package struct ModePointer: Hashable {
  let address: UnsafeMutableRawPointer

  package init(address: UnsafeMutableRawPointer) { self.address = address }
}

/// The properties of a mode besides its members. They live as long as the loop, and are guarded by the loop's lock.
private struct ModeHead: ~Copyable {
  let name: RunLoop.Mode
  /// The string by which the loop found the mode last.
  var lastName: RunLoop.Mode
  var isCommon: Bool
  /// True for the pseudo mode of the common modes. It exists once a block was queued for it, and no loop runs in it.
  let isPseudoMode: Bool
  /// True once a host has taken the mode's descriptor; never false again.
  var isHosted = false
  /// The number of the mode's runs on the stack of the loop's thread, plus 1 if the mode is hosted.
  var useCount: UInt32 = 0
  /// Blocks in the loop's queue that name this mode.
  var pendingBlockCount: UInt32 = 0
  /// The stamp with which `IdleModes` noted the mode last; 0: never.
  var idleStamp: UInt32 = 0

  init(name: RunLoop.Mode, isCommon: Bool) {
    self.name = name
    lastName = name
    self.isCommon = isCommon
    isPseudoMode = name == .common
  }
}

/// The offsets of a mode's parts in its memory, one behind the other. Each part is a value of its own, for two reasons:
/// to change one part of a Swift value is an access to the whole value, and the loop's thread reads some parts without
/// the lock, while other threads change parts under the lock.
private enum Place {
  @inline(__always)
  private static func behind<Part: ~Copyable>(_ place: Int, _: Part.Type) -> Int {
    // `ModePointer.make` checks that no part is aligned to more than 8.
    (place + MemoryLayout<Part>.size + 7) & ~7
  }

  static let head = 0
  @inline(__always) static var observers: Int { behind(0, ModeHead.self) }
  @inline(__always) static var sources: Int { behind(observers, ModeObservers.self) }
  @inline(__always) static var counts: Int { behind(sources, ModeSources.self) }
  @inline(__always) static var timers: Int { behind(counts, ModeCounts.self) }
  @inline(__always) static var messages: Int { behind(timers, ModeTimers.self) }
  @inline(__always) static var ports: Int { behind(messages, ModeMessages.self) }
  @inline(__always) static var end: Int { behind(ports, ModePorts.self) }
}

/// Access to the parts of a mode. The loop's lock guards them, except for what a part says is read without it.
extension ModePointer {
  static func make(name: RunLoop.Mode, isCommon: Bool) -> ModePointer {
    precondition(
      [
        MemoryLayout<ModeHead>.alignment, MemoryLayout<ModeObservers>.alignment, MemoryLayout<ModeSources>.alignment,
        MemoryLayout<ModeCounts>.alignment, MemoryLayout<ModeTimers>.alignment, MemoryLayout<ModeMessages>.alignment,
        MemoryLayout<ModePorts>.alignment,
      ].allSatisfy { $0 <= 8 })
    guard let memory = malloc(Place.end) else { fatalError("RunLoopKit: malloc failed") }
    let mode = ModePointer(address: memory)
    mode.part(Place.head).initialize(to: ModeHead(name: name, isCommon: isCommon))
    mode.part(Place.observers).initialize(to: ModeObservers())
    mode.part(Place.sources).initialize(to: ModeSources())
    mode.part(Place.counts).initialize(to: ModeCounts())
    mode.part(Place.timers).initialize(to: ModeTimers())
    mode.part(Place.messages).initialize(to: ModeMessages())
    mode.part(Place.ports).initialize(to: ModePorts())
    return mode
  }

  /// Destroys what `make` made. The port set goes before the timerfds that it contains.
  func destroy() {
    (part(Place.ports) as UnsafeMutablePointer<ModePorts>).deinitialize(count: 1)
    (part(Place.messages) as UnsafeMutablePointer<ModeMessages>).deinitialize(count: 1)
    (part(Place.timers) as UnsafeMutablePointer<ModeTimers>).deinitialize(count: 1)
    (part(Place.counts) as UnsafeMutablePointer<ModeCounts>).deinitialize(count: 1)
    (part(Place.sources) as UnsafeMutablePointer<ModeSources>).deinitialize(count: 1)
    (part(Place.observers) as UnsafeMutablePointer<ModeObservers>).deinitialize(count: 1)
    (part(Place.head) as UnsafeMutablePointer<ModeHead>).deinitialize(count: 1)
    free(address)
  }

  /// `Part` is the type with which `make` initialised the place.
  @inline(__always)
  private func part<Part: ~Copyable>(_ place: Int) -> UnsafeMutablePointer<Part> {
    (address + place).assumingMemoryBound(to: Part.self)
  }

  private var head: ModeHead {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.head)) }
    @inline(__always) nonmutating unsafeMutableAddress { part(Place.head) }
  }

  @inline(__always)
  var name: RunLoop.Mode { head.name }
  @inline(__always)
  var isPseudoMode: Bool { head.isPseudoMode }

  @inline(__always)
  var isCommon: Bool {
    get { head.isCommon }
    nonmutating set { head.isCommon = newValue }
  }

  var isHosted: Bool {
    head.isHosted
  }

  func markHosted() {
    if !head.isHosted { useCount += 1 }
    head.isHosted = true
  }

  @inline(__always)
  var useCount: UInt32 {
    get { head.useCount }
    nonmutating set { head.useCount = newValue }
  }

  @inline(__always)
  var idleStamp: UInt32 {
    get { head.idleStamp }
    nonmutating set { head.idleStamp = newValue }
  }

  /// True if the loop found the mode last by this very string: then no characters need to be compared.
  @inline(__always)
  func isKnown(as name: RunLoop.Mode) -> Bool { head.lastName.isIdentical(to: name) }

  func noteFound(by name: RunLoop.Mode) { head.lastName = name }

  @inline(__always)
  var pendingBlockCount: Int {
    get { Int(head.pendingBlockCount) }
    nonmutating set { head.pendingBlockCount = UInt32(truncatingIfNeeded: newValue) }
  }

  var observers: ModeObservers {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.observers)) }
    @inline(__always) nonmutating unsafeMutableAddress { part(Place.observers) }
  }

  var sources: ModeSources {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.sources)) }
    @inline(__always) nonmutating unsafeMutableAddress { part(Place.sources) }
  }

  var counts: ModeCounts {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.counts)) }
    @inline(__always) nonmutating unsafeMutableAddress { part(Place.counts) }
  }

  var timers: ModeTimers {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.timers)) }
    @inline(__always) nonmutating unsafeMutableAddress { part(Place.timers) }
  }

  var messages: ModeMessages {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.messages)) }
  }

  var ports: ModePorts {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.ports)) }
    @inline(__always) nonmutating unsafeMutableAddress { part(Place.ports) }
  }
}
