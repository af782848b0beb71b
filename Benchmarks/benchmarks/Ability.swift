import CMeasure

/// What a subject can do of a workload: of its sizes, and how many of its operations in reasonable time.
struct Ability: Sendable {
  var divisor: Int64 = 1
  /// 0: no limit.
  var largest: Int64 = 0
  var onlyWithout = false
  var onlyOneCPU = false
  var onlyExact = false
  var onlyTolerant = false
  var pends = false
  var spins = false

  func covers(_ args: bench_args) -> Bool {
    if onlyWithout && args.size != 0 { return false }
    if onlyOneCPU && args.placement != Int64(BENCH_SAME_CPU.rawValue) { return false }
    if onlyExact && args.tolerance_us != 0 { return false }
    if onlyTolerant && args.tolerance_us == 0 { return false }
    if args.spin_us != 0 && !spins { return false }
    if args.pending != 0 && !pends { return false }
    return largest == 0 || args.size <= largest
  }
}
