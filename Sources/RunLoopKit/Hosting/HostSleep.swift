// A run of a hosted loop can sleep in the host, which serves its own sources meanwhile.

/// Sleeps in the host until the descriptor is readable, the moment has come, or the host has served a source of its
/// own. Returns false at once if the host cannot be iterated now.
package typealias HostSleep = (_ descriptor: Int32, _ until: RunLoop.Instant) -> Bool

extension RunLoop {
  /// Sets what `LoopHosting.sleep` sets, for a host without a `LoopHosting`.
  package func setHostSleep(_ sleep: HostSleep?) throws {
    try checkOwner("setHostSleep(_:)")
    setHostSleep(sleep, of: ObjectIdentifier(self))
  }

  /// Stores how a run sleeps in `host`, in place of an earlier host's closure. Nil removes the closure, if it is
  /// `host`'s. - Thread: The loop's own.
  func setHostSleep(_ sleep: HostSleep?, of host: ObjectIdentifier) {
    if let sleep {
      hostedWaits.sleep = (host, sleep)
    } else if owner.hosted?.sleep?.host == host {
      owner.hosted?.sleep = nil
    }
    owner.sleepsInHost = owner.hosted?.sleep != nil
  }

  /// Whether the innermost run sleeps in the host. Called by code of the host. A run that an exception has left does
  /// not count; the caller's place on the stack shows that it was left. - Thread: The loop's own.
  package var isAsleepInHost: Bool {
    guard isUsable, isCurrent else { return false }
    var caller: UInt8 = 0
    return isInRun(seenFrom: StackPlace(&caller)) && innermostRun.state.sleepsInHost
  }
}

extension ModePointer {
  /// Sleeps in the host, then polls the set and returns how many events it has fetched, or an error, as a wait of the
  /// set does. Returns nil if the host does not sleep for the loop.
  @inline(never)
  func sleepInHost(until deadline: UInt64, on loop: RunLoop) -> Int32? {
    // The mode has a set: each run makes the set of its mode when it begins (`Running`).
    let set = ports.set!
    let at = loop.innermostRun.state.at
    guard let sleep = loop.owner.hosted?.sleep?.body else { return nil }
    loop.innermostRun.state.sleepsInHost = true
    let hasSlept = sleep(set.fileDescriptor, RunLoop.Instant(nanoseconds: deadline))
    guard loop.isInThisProcess else { return -1 }  // a callback has forked
    loop.endRuns(insideOf: at)
    loop.innermostRun.state.sleepsInHost = false
    guard hasSlept else { return nil }
    loop.endHostedWaitsOfCallout()
    // A nested run in a callback may have taken a wake that was posted for this run.
    loop.wakes.postAgain(for: loop.innermostRun)
    return set.poll()
  }
}
