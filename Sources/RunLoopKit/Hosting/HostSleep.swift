// A run of a hosted loop that sleeps in the host's loop, which serves its own sources meanwhile.

/// Sleeps in the host until the descriptor is readable, the moment has come, or something of the host's was served.
/// False: it cannot, and has called nobody.
package typealias HostSleep = (_ descriptor: Int32, _ until: RunLoop.Instant) -> Bool

extension RunLoop {
  /// Of a host without a `LoopHosting`.
  package func setHostSleep(_ sleep: HostSleep?) throws {
    try checkOwner("setHostSleep(_:)")
    setHostSleep(sleep, of: ObjectIdentifier(self))
  }

  /// The latest host that has one. [loop]
  func setHostSleep(_ sleep: HostSleep?, of host: ObjectIdentifier) {
    if let sleep {
      hostedWaits.sleep = (host, sleep)
    } else if owner.hosted?.sleep?.host == host {
      owner.hosted?.sleep = nil
    }
    owner.sleepsInHost = owner.hosted?.sleep != nil
  }

  /// As a host's call sees it: whether the innermost run sleeps in the host. [loop]
  package var isAsleepInHost: Bool {
    guard isUsable, isCurrent else { return false }
    var caller: UInt8 = 0
    return isInRun(seenFrom: StackPlace(&caller)) && innermostRun.state.sleepsInHost
  }
}

extension ModePointer {
  /// How many events the set has fetched then, as a wait of its own. Nil: the host does not sleep for the loop.
  @inline(never)
  func sleepInHost(until deadline: UInt64, on loop: RunLoop) -> Int32? {
    // A run begins with making the set of its mode, or finds one (`Running`).
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
    // A dialogue in a callback may have taken a wake that is this run's.
    loop.wakes.postAgain(for: loop.innermostRun)
    return set.poll()
  }
}
