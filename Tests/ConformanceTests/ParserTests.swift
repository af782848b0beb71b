import Testing

/// Mistakes in a scenario: where they are, and that nothing is run.
@Suite struct ParserTests {
  @Test(
    arguments: [
      ("frobnicate S", "unknown action 'frobnicate'"),
      ("source0 S colour=red", "source0: unknown option 'colour=red'"),
      ("source0 S\nsource0 S", "duplicate item 'S'"),
      ("source0", "source0: missing name"),
      ("observer O", "observer: missing activities"),
      ("observer O entry|leave", "unknown activity 'leave'"),
      ("observer O all repeats=maybe", "observer: repeats is yes or no, not 'maybe'"),
      ("timer T delay=soon", "delay: bad number 'soon'"),
      ("source1 P port=socket", "unknown port kind 'socket'"),
      ("source0 S\nsource1 P share=S", "share: bad source 'S'"),
      ("add S default", "add: unknown item 'S'"),
      ("source0 S\nadd S", "add: missing mode"),
      ("source0 S\nadd S default now", "add: unexpected 'now'"),
      ("block B\nadd B default", "add: expected observer or source0 or source1 or timer, but 'B' is a block"),
      ("source0 S\nsetfire S 10", "setfire: expected timer, but 'S' is a source0"),
      ("run default", "run: missing number"),
      ("run default soon no", "run: bad number 'soon'"),
      ("run default 1 maybe", "run: expected yes or no, got 'maybe'"),
      ("spawn B", "spawn: unknown thread 'B'"),
      ("wake loop=B", "wake: unknown thread 'B'"),
      ("thread A", "expected: thread NAME:"),
      ("thread B:\nnote b\nthread B:", "duplicate thread 'B'"),
      ("on S note x", "on: missing ':'"),
      ("on S: note x", "on: unknown item 'S'"),
      ("source0 S\non S entry: note x", "on: unexpected 'entry'"),
      ("source0 S\non S #0: note x", "bad count '#0'"),
      ("source0 S\non S #1: repeat 2", "repeat: only at the start of a line of a program"),
      ("repeat 2 note x", "repeat: missing ':'"),
      ("at noon: wake", "at: bad number 'noon'"),
      ("trace loud", "trace: unknown mode 'loud'"),
      ("quantum", "quantum: expected one word"),
      ("---", "unknown action '---'"),
      ("--- gold", "unknown trace 'gold'"),
    ])
  func mistakeIsReported(_ text: String, _ message: String) {
    let line = text.split(separator: "\n").count
    let outcome = interpret("note never\n" + text + "\n")
    #expect(outcome.complaint == "FILE:\(line + 1): error: \(message)\n")
    #expect(outcome.status == 2)
    #expect(outcome.output.isEmpty)
  }

  @Test(
    arguments: [
      ("timer T delay=nan", "delay: 'nan' is not from -inf to inf"),
      ("timer T interval=nan", "interval: 'nan' is not from -inf to inf"),
      ("timer T tolerance=nan", "tolerance: 'nan' is not from -inf to inf"),
      ("timer T\nsetfire T nan", "setfire: 'nan' is not from -inf to inf"),
      ("timer T\nsettol T -nan", "settol: '-nan' is not from -inf to inf"),
      ("sleep 1e13", "sleep: '1e13' is not from 0 to 1000000000000"),
      ("busy nan", "busy: 'nan' is not from 0 to 1000000000000"),
      ("sleep -1", "sleep: '-1' is not from 0 to 1000000000000"),
      ("at -1: wake", "at: '-1' is not from 0 to 1000000000000"),
      ("repeat -1 : wake", "repeat: '-1' is not from 0 to 1000000"),
      ("repeat 1.5 : wake", "repeat: bad number '1.5'"),
      ("source1 S\nwrite S 99999999999", "write: '99999999999' is not from 0 to 1000000"),
      ("source1 S\nuntil S 1e10 : wake", "until: '1e10' is not from 0 to 1000000000"),
      (
        "timer T order=99999999999999999999",
        "order: '99999999999999999999' is no whole number from \(Int.min) to \(Int.max)"
      ),
      ("timer T delay=1 delay=2", "timer: 'delay' is given twice"),
      ("source0 S ctx sched ctx", "source0: 'ctx' is given twice"),
      ("watchdog -1", "watchdog: '-1' is not from 1 to 1000000000000"),
      ("watchdog 5\nwatchdog 6", "'watchdog' is given twice"),
      ("quantum 0", "quantum: '0' is not from 1 to 1000000000000"),
      ("slow 0", "slow: '0' is not from 0.001 to 1000"),
      ("slow 500\nslow 500", "slow: all together are not from 0.001 to 1000"),
      ("note \u{1B}[31mred", "control character \\x1b"),
      ("frob\u{9B}31m", "control character \\x9b"),
    ])
  func whatIsBeyondItsRangeIsReported(_ text: String, _ message: String) {
    mistakeIsReported(text, message)
  }

  @Test func extremesAreTaken() {
    let outcome = interpret(
      """
      timer T order=9223372036854775807 delay=1e15
      timer U order=-9223372036854775808 interval=-1e12 tolerance=1e12 # \u{1B}[31m
      order T; order U
      setfire T -1e12
      run default -1e10 no
      run other huge no; run other nan no

      """)
    #expect(outcome.complaint == "")
    #expect(outcome.output.hasPrefix("order T = 9223372036854775807\norder U = -9223372036854775808\n"))
    #expect(outcome.status == 0)
  }

  /// The library takes times of any length, and so does the model.
  @Test(arguments: ["1e15", "1e308", "inf", "-1e308", "-inf"])
  func timesOfTheLibraryHaveItsLimits(_ time: String) {
    let outcome = interpret(
      """
      timer T delay=\(time) interval=\(time) tolerance=\(time)
      timer U delay=60000
      on T : note fires
      add T default; add U default
      settol T \(time)
      run default 0 no
      setfire T \(time)
      run default -1e300 no
      run other \(time) no

      """)
    let fires = time.hasPrefix("-") ? "timer T mode=default\nnote fires\n" : ""
    #expect(outcome.complaint == "")
    #expect(
      outcome.output == """
        run default
        \(fires)ran default TIMEDOUT
        run default
        ran default TIMEDOUT
        run other
        ran other FINISHED
        end

        """)
    #expect(outcome.status == 0)
  }

  @Test func allMistakesAreReportedInOrder() {
    let outcome = interpret("add X default\nsource0 S odd\n\n# comment\nfrobnicate\n")
    #expect(
      outcome.complaint == """
        FILE:1: error: add: unknown item 'X'
        FILE:2: error: source0: unknown option 'odd'
        FILE:5: error: unknown action 'frobnicate'

        """)
  }

  @Test func mistakesThatShowOnlyAtRunTimeExitWith2() {
    let outcome = interpret("source0 S lazy\nnote before\nadd S default\n")
    #expect(outcome.complaint == "FILE:3: error: 'S' has not been created\n")
    #expect(outcome.status == 2)
  }

  @Test func commentsStandAtTheStartOrAfterABlankUnlessADigitFollows() {
    let outcome = interpret(
      """
      # comment
      \ttimer T interval=10   # comment
      on T #2: note second # comment
      on T #3+: note later; stop
      note a#b #c
      add T default;; run default 1 no\r

      """)
    #expect(
      outcome.output == """
        note a#b
        run default
        timer T mode=default
        timer T mode=default
        note second
        timer T mode=default
        note later
        ran default STOPPED
        end

        """)
  }

  @Test func linesMayNameLaterItemsAndThreads() {
    let outcome = interpret("on T: note fired\nspawn B\njoin B\nthread B:\nadd T default\nrun default 1 no\ntimer T\n")
    #expect(
      outcome.output == "B: run default\nB: timer T mode=default\nB: note fired\nB: ran default FINISHED\nend\n")
  }

  @Test func tracesBehindTheProgramAreNotRead() {
    let outcome = interpret("note first\n--- golden\nnote second\nfrobnicate\n--- right\n\u{1B}[31m\n")
    #expect(outcome.output == "note first\nend\n")
    #expect(outcome.complaint == "")
    #expect(outcome.status == 0)
  }

  @Test func programBeforeTheFirstSectionIsThreadAs() {
    let outcome = interpret("note first\nspawn B\njoin B\nthread B:\nsameloop A\nsameloop B\n")
    #expect(outcome.output == "note first\nB: sameloop A = no\nB: sameloop B = yes\nend\n")
  }
}
