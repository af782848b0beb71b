import CMeasure

/// What a subject can do of a workload: of its sizes, and how many of its operations in reasonable time.
struct Limit: Sendable {
  /// A subject that is orders of magnitude slower does `count / divisor` operations.
  var divisor: Int64 = 1
  /// 0: no limit.
  var largest: Int64 = 0
  /// Only size 0: it has no observers.
  var onlyWithout = false
  /// Its threads cannot be pinned one by one: only where both share a processor.
  var onlyOneCPU = false
  /// Its timers know no tolerance.
  var onlyExact = false
  /// Its timers come with the next whole millisecond.
  var onlyTolerant = false

  func covers(_ args: bench_args) -> Bool {
    if onlyWithout && args.size != 0 { return false }
    if onlyOneCPU && args.placement != Int64(BENCH_SAME_CPU.rawValue) { return false }
    if onlyExact && args.tolerance_us != 0 { return false }
    if onlyTolerant && args.tolerance_us == 0 { return false }
    return largest == 0 || args.size <= largest
  }
}
