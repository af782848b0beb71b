/// Work that takes a moment.
enum Primes {
  /// Belongs to no actor: a task that awaits it goes on elsewhere meanwhile, and the window stays alive.
  static func count(below limit: Int) async -> Int {
    var isComposite = [Bool](repeating: false, count: limit)
    var count = 0
    for number in 2..<limit where !isComposite[number] {
      count += 1
      var multiple = number * number
      while multiple < limit {
        isComposite[multiple] = true
        multiple += number
      }
    }
    return count
  }
}
