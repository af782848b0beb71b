// How items of each kind enter and leave one mode. All functions run under the loop's lock.

extension ModePointer {
  /// Adds the item. Returns false if it or an equal one is a member already, or if it belongs to another loop.
  func insert(_ item: RunLoop.Item, on loop: RunLoop) throws(RunLoopError) -> Bool {
    if member(equalTo: item) != nil { return false }
    let token: UInt64?
    do throws(RunLoopError) {
      token = try item.link(to: loop, self) { () throws(RunLoopError) in try register(item, on: loop) }
    } catch {
      if !counts.needDescriptors { loop.mayHaveIdled(self) }
      throw error
    }
    return token != nil
  }

  /// Removes the item. Returns false if it is no member. The caller retains the item, so that its last reference is not
  /// released under the lock.
  @discardableResult
  @inline(__always)
  func leave(_ item: RunLoop.Item, on loop: RunLoop) -> Bool {
    guard let token = item.unlink(self, of: loop) else { return false }
    unregister(item, token: token, on: loop)
    return true
  }

  /// The member that equals the item (rule 28), if the item is a source whose equality is more than identity.
  @inline(__always)
  func member(equalTo item: RunLoop.Item) -> RunLoop.Source? {
    item.withIdentity.flatMap { sources.member(equalTo: $0) }
  }

  var hasNoMembers: Bool { sources.row.isEmpty && counts.ports == 0 && timers.count == 0 && observers.row.isEmpty }

  var members: [RunLoop.Item] {
    var items: [RunLoop.Item] = sources.row.map(\.source)
    items += observers.row.map(\.observer)
    items += timers.members as [RunLoop.Item]
    items += ports.members as [RunLoop.Item]
    return items + messages.members
  }

  /// Enters the item into the mode's tables and returns its token. Called under the item's leaf lock too.
  @inline(__always)
  private func register(_ item: RunLoop.Item, on loop: RunLoop) throws(RunLoopError) -> UInt64 {
    switch item.kind {
    case .portSource, .descriptorSource, .eventSource, .connection:
      let port = item.asDescriptorItem
      if let descriptors = port.descriptors { return try register(port, descriptors, on: loop) }
      return try register(port, on: loop)
    case .timer: return try register(item.asTimer, on: loop)
    case .port: return try register(item.asPort, on: loop)
    case .source:
      let stamp = loop.nextStamp()
      sources.insert(item.asSource, stamp: stamp)
      counts.addSource(item, 1)
      return stamp
    case .observer:
      let stamp = loop.nextStamp()
      observers.insert(item.asObserver, stamp: stamp)
      return stamp
    }
  }

  @inline(__always)
  private func register(_ port: RunLoop.DescriptorItem, on loop: RunLoop) throws(RunLoopError) -> UInt64 {
    if ports.set == nil {
      try port.checkOpen()  // first: a new set could get the number of a closed descriptor
      try makePortSet(on: loop)
    }
    if !counts.hasWatched { giveTimersTheirPlace(on: loop) }
    // The set existed, or was made above.
    let token = try ports.set!.insert(port.registration, port)
    if port.kind == .connection { counts.addConnection(1) } else { counts.addDescriptor(port, 1) }
    return token
  }

  /// Registers an item that owns a descriptor, has a rate limit or shares a reader. A descriptor that the item owns
  /// stays open while the item is a member. If the item is paused, it is paused in this mode too.
  @inline(never)
  private func register(
    _ port: RunLoop.DescriptorItem, _ descriptors: ItemDescriptors, on loop: RunLoop
  ) throws(RunLoopError) -> UInt64 {
    if let owned = descriptors.owned, !owned.hold() { return 0 }  // another thread has invalidated the item
    do throws(RunLoopError) {
      let token = try register(port, with: descriptors.reader, on: loop)
      if let owned = descriptors.owned { trust(port, owned, token: token) }
      // A paused item is muted only if the timer that ends its pause has entered the mode. Otherwise the loop serves it
      // here once more, and pauses it afterwards.
      if let timer = descriptors.limiter?.rest(in: loop.serial), timer.isValid, (try? insert(timer, on: loop)) == true {
        setMuted(true, port, token, on: loop)
      }
      return token
    } catch {
      descriptors.owned?.release()
      throw error
    }
  }

  @inline(__always)
  private func register(
    _ port: RunLoop.DescriptorItem, with reader: SharedReader?, on loop: RunLoop
  ) throws(RunLoopError) -> UInt64 {
    guard let reader else { return try register(port, on: loop) }
    try enter(reader, on: loop)
    do throws(RunLoopError) {
      return try register(port, on: loop)
    } catch {
      leave(reader, on: loop)
      throw error
    }
  }

  /// Registers the timer and arms it. If its callout runs, the end of the callout arms it instead.
  private func register(_ timer: RunLoop.Timer, on loop: RunLoop) throws(RunLoopError) -> UInt64 {
    let token = try timers.insert(timer, watchedBy: ports.set, on: loop)
    counts.addTimer(timer, 1)
    let tolerance = loop.defaultTolerance
    if tolerance > 0, !timer.hasOwnTolerance, timer.schedule.tolerance == 0 {
      timer.schedule.setTolerance(tolerance, interval: timer.intervalNanoseconds)
    }
    if !timer.isFiring {
      if timer.schedule.isLaterThanSaid { timer.schedule.follow(now: loop.kernel.now(timer.clock)) }
      timer.arm(in: self, token: token, on: loop)
    }
    return token
  }

  private func register(_ port: RunLoop.Port, on loop: RunLoop) throws(RunLoopError) -> UInt64 {
    try makePortSet(on: loop)
    let membership = PortMembership(port, loop, self)
    messages.insert(membership)
    counts.addPort(port, 1)
    if port.mailbox.join(membership), messages.mark(membership), loop.runs(in: self) { loop.interrupt() }
    return loop.nextStamp()
  }

  /// Removes the item from the mode's tables.
  func unregister(_ item: RunLoop.Item, token: UInt64, on loop: RunLoop) {
    switch item.kind {
    case .portSource, .descriptorSource, .eventSource, .connection:
      // The set was made when the item was registered, and stays while the mode has such items.
      if !ports.set!.remove(item, token: token) { noteUnwatched(nil, on: loop) }
      if ports.set!.hasUnwatched { loop.interrupt() }
      forgetUnwatched(item)
      if item.kind == .connection { counts.addConnection(-1) } else { counts.addDescriptor(item, -1) }
      if let descriptors = item.descriptors { unregister(descriptors, on: loop) }
    case .timer:
      timers.remove(item.asTimer, token: token)
      counts.addTimer(item, -1)
      armTimers(on: loop)
    case .port: unregister(item.asPort)
    case .source:
      if sources.remove(stamp: token) { counts.addSource(item, -1) }
      return
    case .observer: return observers.remove(item.asObserver)
    }
    if !counts.needDescriptors { loop.mayHaveIdled(self) }
  }

  @inline(never)
  private func unregister(_ descriptors: ItemDescriptors, on loop: RunLoop) {
    descriptors.owned?.release()
    if let reader = descriptors.reader { leave(reader, on: loop) }
    if let timer = descriptors.limiter?.rest(in: loop.serial) { leave(timer, on: loop) }
  }

  /// The caller retains the port.
  private func unregister(_ port: RunLoop.Port) {
    guard let membership = port.mailbox.leave(self) else { return }
    messages.remove(membership)
    counts.addPort(port, -1)
  }
}
