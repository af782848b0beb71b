/// A generator of pseudo-random numbers: equal states generate equal numbers.
struct SplitMix {
  var state: UInt64

  /// Returns 0 to `count - 1`; 0 if `count` is less than 2.
  mutating func below(_ count: Int) -> Int { count < 2 ? 0 : Int(next() % UInt64(count)) }

  private mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
