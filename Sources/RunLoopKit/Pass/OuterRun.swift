/// What a run was begun inside of, and finds again when it ends, or is left: another run, or a host's wait. Apart from
/// the stack. [loop]
struct OuterRun: ~Copyable {
  /// First: `UnsafeMutablePointer.run` is the way to it. Of a host's wait nothing is in it.
  fileprivate let state: Activation.State
  let mode: ModePointer
  /// The word of the stops, which is put back.
  let stop: UInt64
  /// The item in whose callout the inner run was begun; 0: none, or a block's.
  let callout: UInt
  let isInMainQueue: Bool
  /// How many there were on the stack then.
  let enclosingCallouts: Int
  let timedCallouts: Int
  let collectedTimers: Int
  let collectedSources: Int
  /// What its drain has not run yet, if the inner run was begun by one of its blocks.
  fileprivate var drain = BlockDrain()

  fileprivate init(_ mode: ModePointer, _ stop: UInt64, of loop: RunLoop) {
    state = loop.innermostRun.state
    self.mode = mode
    self.stop = stop
    callout = loop.callouts.innermostItem
    isInMainQueue = loop.state.isInMainQueue
    enclosingCallouts = loop.state.callouts.enclosingCount
    timedCallouts = loop.owner.times.count
    collectedTimers = loop.state.collectedTimers.count
    collectedSources = loop.owner.collectedSources.count
  }
}

extension UnsafeMutablePointer where Pointee == OuterRun {
  /// Nil if it is a host's wait.
  var run: Activation? {
    let run = Activation(at: UnsafeMutableRawPointer(self))
    return run.isRunning ? run : nil
  }
}

extension RunLoop {
  /// A run begins in a callout of the innermost run, or of a host's wait, whose mode is `outer`. Under the lock.
  @inline(never)
  func beginNesting(in mode: ModePointer, insideOf outer: ModePointer, _ stop: UInt64) {
    state.collectedTimers.putBack()
    let made = UnsafeMutablePointer.make(OuterRun(outer, stop, of: self))
    owner.drain.exchange(with: &made.pointee.drain)
    innermostRun.state = Activation.State()
    innermostRun.state.outer = made
    made.run?.muteServed(in: mode, on: self)
  }

  /// The innermost run is over; the outer one, if there is one, is the innermost one again.
  func endNesting() {
    guard let outer = innermostRun.state.outer else {
      innermostRun.state = Activation.State()
      return
    }
    owner.drain.exchange(with: &outer.pointee.drain)
    innermostRun.state = outer.pointee.state
    outer.destroy()
  }

  /// Of a thread that has ended in a callout: the items that its runs serve and that hold a descriptor for that, the
  /// outermost first, and the blocks that their drains have not run.
  func takeRuns() -> (served: [Item], blocks: [WaitingBlocks]) {
    var served: [Item] = [], blocks: [WaitingBlocks] = []
    while innermostRun.isRunning {
      if let item = innermostRun.state.owned { served.insert(item, at: 0) }
      if let rest = owner.drain.takeRest() { blocks.append(rest) }
      endNesting()
    }
    return (served, blocks)
  }
}
