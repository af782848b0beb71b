import Testing

/// The trace's two normalisations, its time scale, and what is traced at all.
@Suite struct TraceTests {
  private static let idleWakes = """
    observer O all
    observer W before-waiting|after-waiting quiet
    source0 S
    add O default; add S default; add W default
    at 10: wake
    at 20: wake
    at 30: signal S; wake
    run default 1 yes

    """

  @Test func idleWakesStayInAFullTrace() {
    let lines = interpret("trace full\n" + Self.idleWakes).output.split(separator: "\n")
    #expect(lines.count { $0 == "observer O before-waiting mode=default" } == 3)
    #expect(lines.count { $0 == "observer O after-waiting mode=default" } == 3)
  }

  /// CFRunLoop calls them by version, RunLoopKit by what marks them.
  @Test func sourcesHaveTwoNames() {
    let program = "\non P: write Q\nadd P default; add Q default; signal P\nrun default 1 yes\npending Q\n"
    let (ours, theirs) = (
      interpret("source P order=1 sched\nportsource Q port=pipe" + program),
      interpret("source0 P order=1 sched\nsource1 Q port=pipe" + program)
    )
    #expect(ours.status == 0 && ours.complaint.isEmpty)
    #expect(ours.output == theirs.output)
    #expect(ours.output.contains("source0 P mode=default\n"))
    #expect(
      interpret("source\nportsource Q share=P\n").complaint
        == "FILE:1: error: source0: missing name\nFILE:2: error: share: bad source 'P'\n")
  }

  @Test func collapseRemovesIdleWakes() {
    #expect(
      interpret("trace collapse\n" + Self.idleWakes).output == """
        run default
        observer O entry mode=default
        observer O before-timers mode=default
        observer O before-sources mode=default
        observer O before-waiting mode=default
        observer O after-waiting mode=default
        observer O before-timers mode=default
        observer O before-sources mode=default
        source0 S mode=default
        observer O exit mode=default
        ran default HANDLED
        end

        """)
  }

  @Test func anythingBetweenKeepsAWake() {
    let text = "trace collapse\non W after-waiting #1: note between\n" + Self.idleWakes
    let lines = interpret(text).output.split(separator: "\n")
    #expect(lines.count { $0 == "observer O before-waiting mode=default" } == 2)
  }

  @Test func calloutsTraceHidesObserversButRunsTheirRules() {
    let outcome = interpret(
      "trace callouts\nobserver O exit\nsource0 S\non O: note out\nadd O default; add S default\nrun default 0 no\n")
    #expect(outcome.output == "run default\nnote out\nran default TIMEDOUT\nend\n")
  }

  @Test func neighbouringMembershipLinesOfOneItemAreSorted() {
    let outcome = interpret(
      """
      source0 S sched
      source0 K
      add K zz; add K b; add K aa
      add S zz; add S b; add S aa
      note between
      add S default
      invalidate S

      """)
    #expect(
      outcome.output == """
        schedule S mode=aa loop=A
        schedule S mode=b loop=A
        schedule S mode=zz loop=A
        note between
        schedule S mode=default loop=A
        cancel S mode=aa loop=A
        cancel S mode=b loop=A
        cancel S mode=default loop=A
        cancel S mode=zz loop=A
        end

        """)
  }

  @Test func membershipLinesOfDifferentItemsKeepTheirOrder() {
    let outcome = interpret("source0 T sched\nsource0 S sched\nadd T default; add S default\n")
    #expect(outcome.output == "schedule T mode=default loop=A\nschedule S mode=default loop=A\nend\n")
  }

  @Test func neighbouringReleaseLinesAreSorted() {
    let outcome = interpret("source0 T ctx\nsource0 S ctx\nsource0 R ctx\ndrop T; drop R; note x; drop S\n")
    #expect(outcome.output == "retain T\nretain S\nretain R\nrelease R\nrelease T\nnote x\nrelease S\nend\n")
  }

  @Test(arguments: ["1", "7", "0.5"])
  func printedTimesDoNotDependOnTheScale(_ scale: String) {
    let outcome = interpret(
      "slow 2\ntimer T delay=110 interval=1000\nadd T default\nrun default 0.26 no stamp\nfirein T; interval T; mark\n",
      environment: ["RLSCALE": scale])
    #expect(
      outcome.output == """
        run default
        timer T mode=default
        ran default TIMEDOUT at=250
        firein T = 800
        interval T = 1000
        mark at=250
        end

        """)
  }

  @Test func nothingIsTracedAfterTheEnd() {
    let outcome = interpret("note last\nat 50: note never\nthread B:\nnote never\n")
    #expect(outcome.output == "note last\nend\n")
  }
}
