import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// The next `count` registrations are refused.
private func refuse(_ count: Int) {
  let left = Box(count)
  CountingKernel.script.control = {
    left.update {
      $0 -= 1
      return $0 >= 0 ? -ENOSPC : nil
    }
  }
}

/// What epoll does not take back, or will never answer again: injected errors.
final class RefusalTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }
  override func tearDown() { CountingKernel.script = CountingKernel.Script() }

  typealias Source = RunLoop.FileDescriptorSource

  /// After a nested run: told once, tried again without a spin, and heard again.
  func test_RLK_FD_29_oneThatIsNotTakenBackIsToldAndTriedAgain() {
    for refusals in [1, 4] {
      onThread {
        let (loop, log, pipe) = (RunLoop.current, Box<[Source.Readiness]>([]), Pipe())
        let source = try Source(fileDescriptor: pipe.reading, interest: .readable) { _, ready in
          let count = log.update {
            $0.append(ready)
            return $0.count
          }
          if count == 3 { return loop.stop() }
          guard count == 1 else { return }
          _ = try? loop.run(for: .zero)
          refuse(refusals)
        }
        try loop.add(source)
        pipe.send("x")
        var result: RunLoop.RunResult?
        let counts = try CountingKernel.count { result = try loop.run(for: .seconds(30)) }
        XCTAssertEqual(result, .stopped)
        XCTAssertEqual(log.value, [.readable, .error, .readable])
        XCTAssertLessThanOrEqual(counts.waits, 10 + 2 * refusals)
        source.invalidate()
        pipe.closeBoth()
      }
    }
  }

  /// By its handler, at once; a failure is its own then.
  func test_RLK_FD_30_settingTheInterestTriesAgain() {
    onThread {
      let (loop, log, pipe) = (RunLoop.current, Box<[Source.Readiness]>([]), Pipe())
      let errors = Box<[RunLoopError?]>([])
      let source = try Source(fileDescriptor: pipe.reading, interest: .readable) { source, ready in
        log.update { $0.append(ready) }
        if log.value.count == 1 {
          _ = try? loop.run(for: .zero)
          refuse(3)
        } else if ready == .error {
          for _ in 0..<2 { errors.update { $0.append(thrown { try source.setInterest(.readable) }) } }
        }
      }
      try loop.add(source)
      pipe.send("x")
      for _ in 0..<3 { try loop.run(for: .zero) }
      XCTAssertEqual(log.value, [.readable, .error, .readable])
      XCTAssertEqual(errors.value, [.system(ENOSPC), nil])
      XCTAssertEqual(errors.value[0]?.call, "epoll_ctl")
      source.invalidate()
      pipe.closeBoth()
    }
  }

  /// At the end of a rest; a port source, which has no word for it, is only tried again.
  func test_RLK_FD_31_aRestThatCannotEndIsTriedAgain() {
    onThread {
      let (loop, called, counter) = (RunLoop.current, Box(0), EventCounter(isSemaphore: true))
      let limit = RunLoop.RateLimit(count: 1, per: .milliseconds(1)) { _ in }
      try loop.add(RunLoop.Timer.never())  // or the timer of the rest is refused, and there is none
      let source = try RunLoop.PortSource(fileDescriptor: counter.descriptor, limit: limit) { _ in
        called.value += 1
        if called.value == 1 { refuse(2) }  // also that it looks for more is not heard of
        if called.value == 3 { loop.stop() }
      }
      try loop.add(source)
      counter.add(3)
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      XCTAssertEqual(called.value, 3)
      source.invalidate()
    }
  }

  /// Removing the later of two on one number: epoll refuses the earlier one, which had it before.
  func test_RLK_FD_32_anEarlierOneThatIsNotTakenBackIsTriedAgain() {
    onThread {
      let (loop, called, counter) = (RunLoop.current, Box(0), EventCounter(isSemaphore: true))
      try loop.add(RunLoop.Timer.never())
      try loop.add(PortSourceFactory.make(counter) { called.value += 1 })
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(3600)) { _ in }
      let later = try RunLoop.PortSource(fileDescriptor: counter.descriptor, limit: limit) { _ in called.value += 10 }
      try loop.add(later)
      counter.add(2)
      try loop.run(for: .zero)
      XCTAssertEqual(called.value, 10)  // and now it rests
      refuse(1)
      later.invalidate()
      for _ in 0..<3 { try loop.run(for: .zero) }
      XCTAssertEqual(called.value, 11)
    }
  }

  /// As membership is: by the thread of the loop itself, between the wait and the callout.
  func test_RLK_FD_33_anInterestThatAnObserverClearsIsNotCalled() {
    for trigger in [Source.Trigger.level, .edge, .oneShot] {
      onThread {
        let (loop, called, pipe) = (RunLoop.current, Box(0), Pipe())
        let source = try Source(fileDescriptor: pipe.reading, interest: .readable, trigger: trigger) { _, _ in
          called.value += 1
          loop.stop()
        }
        try loop.add(source)
        try loop.add(RunLoop.Observer(.afterWaiting, repeats: false) { _, _ in source.interest = [] })
        pipe.send("x")
        XCTAssertEqual(try loop.run(for: .milliseconds(2)), .timedOut)
        XCTAssertEqual(called.value, 0)
        source.interest = .readable
        XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
        XCTAssertEqual(called.value, 1)
        source.invalidate()
        pipe.closeBoth()
      }
    }
  }

  /// A timer that cannot be added leaves the mode as it was, and so does one that was never in a set.
  func test_RLK_ADD_11_aTimerIsAddedOrNothingIsChanged() {
    onThread {
      let (loop, fired) = (RunLoop.current, Box(0))
      try loop.add(RunLoop.Source { _ in })
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      let timer = RunLoop.Timer(fireDate: .now) { _ in fired.value += 1 }
      Faults.planMemory()
      XCTAssertEqual(thrown { try loop.add(timer) }, .system(ENOMEM))
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertFalse(loop.contains(timer))
      XCTAssertTrue(try loop.add(timer))
      XCTAssertEqual(try loop.run(for: .milliseconds(1)), .timedOut)
      XCTAssertEqual(fired.value, 1)
    }
    onThread {
      let (loop, fired) = (RunLoop.current, Box(0))
      let timer = RunLoop.Timer(fireDate: .now) { _ in fired.value += 1 }
      try loop.add(timer)
      loop.remove(timer)
      try loop.add(RunLoop.Source { _ in })
      let calls = Box(0)
      CountingKernel.script.control = {
        calls.value += 1
        return calls.value > 1 ? -ENOSPC : nil  // the first is the wakeup port's
      }
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertEqual(calls.value, 1)
      CountingKernel.script.control = nil
      try loop.add(timer)
      XCTAssertEqual(try loop.run(for: .milliseconds(1)), .timedOut)
      XCTAssertEqual(fired.value, 1)
    }
  }

  /// The item was a member of the default mode until another common mode refused it. A run that has counted it ends.
  func test_RLK_ADD_4_aRunDoesNotSleepForAnItemThatIsRefused() {
    onThread {
      let (loop, isIn, mayGoOn, isOver) = (RunLoop.current, Gate(), Gate(), Gate())
      let (counter, refused, keeper) = (EventCounter(), EventCounter(), RunLoop.Source { _ in })
      let port = try PortSourceFactory.make(counter) {
        isIn.open()
        mayGoOn.wait()
      }
      port.keepsRunning = false
      try loop.add(keeper)
      try loop.add(port)
      loop.addCommonMode("ADD_4")
      counter.add()
      let adding = TestThread {
        isIn.wait()
        keeper.invalidate()
        CountingKernel.script.create = {
          mayGoOn.open()
          yieldUntil(loop.isWaiting)
          return -EMFILE
        }
        XCTAssertEqual(thrown { try loop.add(PortSourceFactory.make(refused) {}, to: .common) }, .system(EMFILE))
        let hasEnded = isOver.wait(atMost: 50)
        XCTAssertTrue(hasEnded)
        if !hasEnded { loop.wakeUp() }
      }
      XCTAssertEqual(try loop.run(), .finished)
      isOver.open()
      adding.join()
    }
  }

  /// Other code closes the loop's own descriptor, or puts another file there, and there is none for a new one: the run
  /// says so, at once.
  func test_RLK_RUN_9_aWaitThatFailsForGoodIsAnError() {
    for isReplaced in [false, true] {
      onThread {
        let (loop, told, other) = (RunLoop.current, Box<[RunLoop.Activity]>([]), EventCounter())
        let (port, counter) = (Box(0), EventCounter())
        try loop.add(PortSourceFactory.make(counter) { port.value += 1 })
        let descriptor = try loop.hostDescriptor().fileDescriptor
        if isReplaced { dup2(other.descriptor, descriptor) } else { closeAndHold(descriptor) }
        try loop.add(RunLoop.Observer([.afterWaiting, .exit]) { _, activity in told.update { $0.append(activity) } })
        CountingKernel.script.create = { -EMFILE }
        defer { CountingKernel.script.create = nil }
        let error = RunLoopError.system(isReplaced ? EINVAL : EBADF, call: "epoll_wait")
        let counts = CountingKernel.count { XCTAssertEqual(thrown { try loop.run(for: .seconds(30)) }, error) }
        XCTAssertEqual(counts.waits, 1)
        XCTAssertEqual(told.value, [.afterWaiting, .exit])
        XCTAssertEqual(thrown { try loop.run() }, error)
        XCTAssertEqual(thrown { try loop.run(for: .zero) }, error)
        XCTAssertEqual(thrown { try loop.prepareToWait() }, error)
        XCTAssertEqual(thrown { try loop.runPendingWork() }, error)
        let words = thrown { try loop.run() }.map { "\($0)" } ?? ""
        XCTAssertTrue(words.hasPrefix("other code has closed the run loop's own descriptor"), words)
        XCTAssertTrue(loop.description.contains("its waits fail: \(words)"))
        XCTAssertNil(loop.currentMode)
        CountingKernel.script.create = nil
        try loop.add(RunLoop.Timer(fireDate: .now) { _ in loop.stop() }, to: "another")
        XCTAssertEqual(try loop.run(in: "another", for: .seconds(30)), .stopped)
        dup2(other.descriptor, descriptor)  // what the loop closes at its end is nobody else's
      }
    }
  }

  /// It is over for who answers, too.
  func test_RLK_MSG_23_aRequestWhoseWaitFailsIsOver() {
    onThread {
      let (loop, kept, other) = (RunLoop.current, Box<Port.SendRight?>(nil), EventCounter())
      let port = Port { _, message in kept.value = message.reply }
      try loop.add(port, to: "serving")
      let descriptor = try loop.hostDescriptor(in: "asking").fileDescriptor
      closeAndHold(descriptor)
      CountingKernel.script.create = { -EMFILE }
      let error = thrown { try port.sendRight.request(Message(), in: "asking") }
      CountingKernel.script.create = nil
      XCTAssertEqual(error, .system(EBADF, call: "epoll_wait"))
      try loop.run(in: "serving", for: .zero)
      XCTAssertEqual(kept.value?.isValid, false)
      XCTAssertEqual(thrown { try kept.value?.send(Message()) }, .portInvalid)
      dup2(other.descriptor, descriptor)  // what the loop closes at its end is nobody else's
    }
  }

  /// A timer comes in time all the same.
  func test_RLK_RUN_11_aTimerdescriptorThatSomebodyClosesIsDoneWithout() {
    onThread {
      let (loop, fired, other) = (RunLoop.current, Box(0), EventCounter())
      let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in
        fired.value += 1
        loop.stop()
      }
      try loop.add(timer)
      let text = loop.description
      let number = text.components(separatedBy: "timer port: descriptor ")[1].prefix { $0.isNumber }
      dup2(other.descriptor, Int32(number)!)
      timer.rearm(after: .milliseconds(2))
      let counts = try CountingKernel.count { XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped) }
      XCTAssertEqual(fired.value, 1)
      XCTAssertLessThanOrEqual(counts.waits, 4)
      TestThread { timer.rearm(after: .milliseconds(2)) }.join()
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
    }
  }

  /// Nothing shows the loop the date that another thread sets, but an interrupt.
  func test_RLK_RUN_12_withoutATimerDescriptorAnotherThreadsDateWakesTheLoop() {
    let (shared, ready, other) = (Box<(RunLoop, RunLoop.Timer)?>(nil), Gate(), EventCounter())
    let owner = TestThread {
      let loop = RunLoop.current
      let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in loop.stop() }
      _ = try? loop.add(timer)
      let number = loop.description.components(separatedBy: "timer port: descriptor ")[1].prefix { $0.isNumber }
      dup2(other.descriptor, Int32(number)!)
      timer.rearm(after: .milliseconds(1))
      XCTAssertEqual(try? loop.run(for: .seconds(120)), .stopped)
      timer.disarm()
      shared.value = (loop, timer)
      ready.open()
      XCTAssertEqual(try? loop.run(for: .seconds(30)), .stopped)
    }
    ready.wait()
    let (loop, timer) = shared.value!
    yieldUntil(loop.isWaiting)
    timer.rearm(after: .zero)
    owner.join()
  }

  /// One that might pass does not: no spin for ever.
  func test_RLK_RUN_10_aWaitThatFailsAgainAndAgainIsAnError() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      CountingKernel.script.wait = { _ in -ENOMEM }
      let error = RunLoopError.system(ENOMEM, call: "epoll_wait")
      let counts = CountingKernel.count { XCTAssertEqual(thrown { try loop.run(for: .seconds(30)) }, error) }
      XCTAssertLessThanOrEqual(counts.waits, 101)
      CountingKernel.script.wait = nil
      XCTAssertEqual(try loop.run(for: .milliseconds(1)), .timedOut)
    }
  }

  /// A thread of the kit's that cannot wait ends as if it had been stopped, and that is told.
  func test_RLK_RUN_10_aThreadWhoseWaitsFailEnds() {
    defer { RunLoop.diagnostics = RunLoop.Diagnostics() }
    let told = Box<[String]>([])
    RunLoop.diagnostics.handler = { _, text in told.update { $0.append(text) } }
    onThread {
      let (thread, dropped) = (RunLoop.Thread(name: "failing"), Box(0))
      try thread.start()
      try thread.perform(in: "never", block: {}, onDrop: { dropped.value += 1 })
      yieldUntil(thread.loop!.isWaiting)
      CountingKernel.script.wait = { _ in -ENOMEM }
      thread.loop!.wakeUp()
      try thread.join()
      CountingKernel.script.wait = nil
      XCTAssertEqual(told.value.count, 1)
      XCTAssertTrue(told.value.allSatisfy { $0.hasPrefix("the thread \"failing\" ends: ") }, "\(told.value)")
      XCTAssertEqual(dropped.value, 1)
    }
  }

  /// A circle of limiter, timer and closure kept them all.
  func test_RLK_LEAK_6_aSourceThatIsDroppedWhileItRestsIsGone() {
    onThread {
      let (loop, gone, counter) = (RunLoop.current, Box(0), EventCounter())
      try loop.add(RunLoop.Timer.never())
      for isLimited in [true, false] {
        let token = Token { gone.value += 1 }
        let limit =
          isLimited ? RunLoop.RateLimit(count: 1, per: .seconds(3600)) { _ in withExtendedLifetime(token) {} } : nil
        var source: RunLoop.PortSource? = try RunLoop.PortSource(fileDescriptor: counter.descriptor, limit: limit) {
          _ in
          withExtendedLifetime(token) {}
        }
        try loop.add(source!)
        counter.add()
        try loop.run(for: .zero)
        loop.remove(source!)
        source = nil
      }
      XCTAssertEqual(gone.value, 2)
      XCTAssertEqual(loop.items().count, 1)
    }
  }

  /// Of several each is told, when the loop has done what is to be done for the others.
  func test_RLK_FAULT_2_eachItemThatAModeDoesNotGetIsTold() {
    defer { RunLoop.diagnostics = RunLoop.Diagnostics() }
    let told = Box<[String]>([])
    RunLoop.diagnostics.handler = { _, text in told.update { $0.append(text) } }
    onThread {
      let (loop, pipes) = (RunLoop.current, [Pipe(), Pipe(), Pipe()])
      let sources = try pipes.map { try Source(fileDescriptor: $0.reading, interest: .readable) { _, _ in } }
      for (number, source) in sources.enumerated() {
        source.label = "refused \(number)"
        try loop.add(source, to: .common)
      }
      var hooks = RunLoop.Source.Hooks()
      hooks.schedule = { _, mode in told.update { $0.append("scheduled in \(mode)") } }
      try loop.add(RunLoop.Source(hooks: hooks) { _ in }, to: .common)
      try loop.add(RunLoop.Timer.never(), to: "second")
      try loop.run(in: "second", for: .zero)
      told.value = []
      refuse(2)
      loop.addCommonMode("second")
      let missing = sources.filter { !loop.contains($0, in: "second") }
      XCTAssertEqual(missing.count, 2)
      XCTAssertEqual(told.value.first, "scheduled in second")
      for source in missing {
        XCTAssertEqual(told.value.count { $0.contains("addCommonMode") && $0.contains("\"\(source.label ?? "")\"") }, 1)
      }
      for source in sources { source.invalidate() }
      for pipe in pipes { pipe.closeBoth() }
    }
  }
}
