/// The run, or the host's wait, in which a nested run began. The loop restores it when the nested run has ended or was
/// left. It does not lie on the stack. - Thread: The loop's own.
struct OuterRun: ~Copyable {
  /// The state of the outer run, or the state of no run if this is a host's wait. It must be the first field, because
  /// `UnsafeMutablePointer.run` finds it at the address of the struct.
  fileprivate let state: Activation.State
  let mode: ModePointer
  /// The word of `Stops`, which the end of the nested run restores.
  let stop: UInt64
  /// The address of the item in whose callout the nested run began; 0 if there is none, as in a block.
  let callout: UInt
  let isInMainQueue: Bool
  // The next four fields keep counts as they were when the nested run began.
  let enclosingCallouts: Int
  let timedCallouts: Int
  let collectedTimers: Int
  let collectedSources: Int
  /// The blocks that the outer run's drain has not run yet, if one of its blocks has begun the nested run.
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
  /// The outer run; nil if this is a host's wait.
  var run: Activation? {
    let run = Activation(at: UnsafeMutableRawPointer(self))
    return run.isRunning ? run : nil
  }
}

extension RunLoop {
  /// Called when a run begins in a callout of the innermost run, or of a host's wait. Under the lock.
  /// - Parameters:
  ///   - mode: The mode of the run that begins.
  ///   - outer: The mode of the innermost run, or of the host's wait.
  ///   - stop: The word of `Stops` that the end of the nested run restores.
  @inline(never)
  func beginNesting(in mode: ModePointer, insideOf outer: ModePointer, _ stop: UInt64) {
    state.collectedTimers.putBack()
    let made = UnsafeMutablePointer.make(OuterRun(outer, stop, of: self))
    owner.drain.exchange(with: &made.pointee.drain)
    innermostRun.state = Activation.State()
    innermostRun.state.outer = made
    made.run?.muteServed(in: mode, on: self)
  }

  /// Ends the innermost run. The outer one, if there is one, becomes the innermost one again.
  func endNesting() {
    guard let outer = innermostRun.state.outer else {
      innermostRun.state = Activation.State()
      return
    }
    owner.drain.exchange(with: &outer.pointee.drain)
    innermostRun.state = outer.pointee.state
    outer.destroy()
  }

  /// Ends all runs of a thread that has ended in a callout.
  /// - Returns: The items whose own descriptors these runs hold open, the outermost run's first, and the blocks that
  ///   the drains have not run.
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
