/// The address of a mode's state. Items and ports refer to the mode by it; only the loop reads the state.
package struct ModePointer: Hashable {
  private let address: UnsafeMutablePointer<ModeState>

  package init(address: UnsafeMutableRawPointer) {
    self.address = address.assumingMemoryBound(to: ModeState.self)
  }

  static func make(name: RunLoop.Mode, isCommon: Bool) -> ModePointer {
    ModePointer(address: UnsafeMutablePointer.make(ModeState(name: name, isCommon: isCommon)))
  }

  /// Closes the mode's descriptors and frees its state.
  func destroy() {
    ports.destroy()  // before the timerfds that the port set contains
    address.destroy()
  }
}

/// Everything that a mode holds. It lives as long as the loop. The loop's lock guards it, except for parts that say
/// that they are read without the lock.
private struct ModeState: ~Copyable {
  /// The number of the mode's runs on the stack of the loop's thread, plus 1 if the mode is hosted. ThreadSanitizer
  /// counts a change of any field as a change of the first field too. So the first field has to be one that is used
  /// only under the lock.
  var useCount: UInt32 = 0
  /// Blocks in the loop's queue that name this mode.
  var pendingBlockCount: UInt32 = 0
  /// The stamp with which `IdleModes` noted the mode last; 0 if it never did.
  var idleStamp: UInt32 = 0
  var isCommon: Bool
  /// True once a host has taken the mode's descriptor; never false again.
  var isHosted = false
  /// True for the pseudo mode of the common modes. It exists once a block was queued for it, and no loop runs in it.
  let isPseudoMode: Bool
  let name: RunLoop.Mode
  /// The string by which the loop found the mode last.
  var lastName: RunLoop.Mode
  var observers = ModeObservers()
  var sources = ModeSources()
  var counts = ModeCounts()
  var timers = ModeTimers()
  var messages = ModeMessages()
  var ports = ModePorts()

  init(name: RunLoop.Mode, isCommon: Bool) {
    self.name = name
    lastName = name
    self.isCommon = isCommon
    isPseudoMode = name == .common
  }
}

extension ModePointer {
  var name: RunLoop.Mode { address.pointee.name }
  var isPseudoMode: Bool { address.pointee.isPseudoMode }
  var isHosted: Bool { address.pointee.isHosted }

  func markHosted() {
    if !isHosted { useCount += 1 }
    address.pointee.isHosted = true
  }

  var isCommon: Bool {
    get { address.pointee.isCommon }
    nonmutating set { address.pointee.isCommon = newValue }
  }

  var useCount: UInt32 {
    get { address.pointee.useCount }
    nonmutating set { address.pointee.useCount = newValue }
  }

  var idleStamp: UInt32 {
    get { address.pointee.idleStamp }
    nonmutating set { address.pointee.idleStamp = newValue }
  }

  var pendingBlockCount: Int {
    get { Int(address.pointee.pendingBlockCount) }
    nonmutating set { address.pointee.pendingBlockCount = UInt32(truncatingIfNeeded: newValue) }
  }

  /// True if this is the string by which the loop found the mode last. Compares no characters.
  func isKnown(as name: RunLoop.Mode) -> Bool { address.pointee.lastName.isIdentical(to: name) }

  func noteFound(by name: RunLoop.Mode) { address.pointee.lastName = name }

  var observers: ModeObservers {
    _read { yield address.pointee.observers }
    nonmutating _modify { yield &address.pointee.observers }
  }

  var sources: ModeSources {
    _read { yield address.pointee.sources }
    nonmutating _modify { yield &address.pointee.sources }
  }

  var counts: ModeCounts {
    _read { yield address.pointee.counts }
    nonmutating _modify { yield &address.pointee.counts }
  }

  var timers: ModeTimers {
    _read { yield address.pointee.timers }
    nonmutating _modify { yield &address.pointee.timers }
  }

  var messages: ModeMessages {
    _read { yield address.pointee.messages }
  }

  var ports: ModePorts {
    _read { yield address.pointee.ports }
    nonmutating _modify { yield &address.pointee.ports }
  }
}
