import Measuring
import Testing

@testable import benchmarks

@Suite struct SelectionTests {
  private func select(
    _ workloads: String? = nil, _ subjects: String? = nil, isQuick: Bool = false
  ) throws -> Selection {
    try Selection(workloads: workloads, subjects: subjects, among: Workload.standard, isQuick: isQuick)
  }

  @Test func aNameSelectsAllArgumentsAndALabelOne() throws {
    #expect(
      try select("timer_ic").workloads.map(\.label) == [
        "timer_ic 1000", "timer_ic 100000", "timer_ic 1000000", "timer_ic 1000 again",
      ])
    #expect(try select("iter 10, post 1").workloads.map(\.label) == ["post 1", "iter 10"])
  }

  @Test func unknownNamesAreErrorsThatSayTheName() {
    #expect(throws: Failure.self) { try select("post,psot") }
    #expect(throws: Failure.self) { try select(nil, "libuw") }
    do { _ = try select("psot") } catch { #expect("\(error)".contains("'psot'")) }
  }

  @Test func anEmptyListIsAnError() {
    #expect(throws: Failure.self) { try select("") }
    #expect(throws: Failure.self) { try select(nil, ",") }
  }

  @Test func quickLeavesLongWorkloadsOutUnlessTheyAreNamed() throws {
    #expect(try !select(isQuick: true).workloads.contains { $0.isLong })
    #expect(try select("timer_firewin", isQuick: true).workloads.count == 2)
  }

  @Test func labelsAreUnique() {
    #expect(Set(Workload.standard.map(\.label)).count == Workload.standard.count)
    #expect(Set(Workload.growing.map(\.label)).count == Workload.growing.count)
  }

  @Test func eachWorkloadIsKnownToSomeSubject() {
    for workload in Workload.standard + Workload.growing {
      #expect(Subject.all.contains { $0.divisor(for: workload) != nil }, "\(workload.label)")
    }
  }

  @Test func postsAreJudgedWithoutARace() throws {
    let onOne = try #require(Workload.standard.first { $0.label == "wake_rtt same" }).parameters.placement
    for workload in Workload.standard {
      let isPost = workload.name == "post"
      let judged = workload.judged.parameters
      #expect(judged.placement == (isPost ? onOne : workload.parameters.placement), "\(workload.label)")
      #expect(judged.active == (isPost ? 1 : workload.parameters.active), "\(workload.label)")
      #expect(workload.judged.label == workload.label)
    }
  }

  @Test func quickMakesCountsSmallerButNeverNothing() {
    let workload = Workload("post", "1", "", count: 30, size: 1)
    #expect(workload.args(divisor: 1, isQuick: false).count == 30)
    #expect(workload.args(divisor: 1, isQuick: true).count == 3)
    #expect(workload.args(divisor: 100, isQuick: true).count == 2)
  }

  @Test func aSubjectDoesWhatItsLimitsLetIt() throws {
    let (cf, libuv, core) = (try subject("cf"), try subject("libuv"), try subject("core"))
    #expect(cf.divisor(for: Workload("timer_ic", "", "", size: 100_000)) == 1000)
    #expect(cf.divisor(for: Workload("timer_ic", "", "", size: 100_001)) == nil)
    #expect(libuv.divisor(for: Workload("timer_firewin", "", "", toleranceUs: 1)) == 1)
    #expect(libuv.divisor(for: Workload("timer_firewin", "", "")) == nil)
    #expect(libuv.divisor(for: Workload("wake_rtt", "", "", pending: 1)) == 1)
    #expect(libuv.divisor(for: Workload("wake_rtt", "", "", spinUs: 20)) == nil)
    #expect(core.divisor(for: Workload("wake_rtt", "", "", spinUs: 20)) == 1)
    #expect(core.divisor(for: Workload("main_queue", "", "")) == nil)
  }

  private func subject(_ name: String) throws -> Subject { try #require(Subject.all.first { $0.name == name }) }
}
