// Peers that keep no rules, against a server that does with messages all that a program may: it sends them on, answers with them,
// keeps them. An honest client is served beside them, and nothing of theirs stays behind.
//
//   hostile-peers [--rounds N] [--seed S] [--seconds T]
//
// A round has one seed; T seconds are as many rounds as there is time for, and N of them if there is less. A failure names the
// seed, with which the same packets are sent again, though not at the same moments: --rounds 1 --seed IT.
import Glibc

@main
struct HostilePeers {
  static func main() throws {
    let words = CommandLine.arguments
    switch words.dropFirst().first {
    case "serve": try Server(words[2], client: getppid(), seed: UInt64(words[3])!).run()
    case "attack": Attacker(words[2]).run()
    default:
      let driver = try Driver(Options(Array(words.dropFirst())))
      exit(try driver.run() ? 0 : 1)
    }
  }
}

struct Options {
  var rounds: UInt64 = 200
  var seed: UInt64 = 1
  var seconds: Int64 = 0

  init(_ words: [String]) {
    for index in stride(from: 0, to: words.count, by: 2) {
      guard index + 1 < words.count, let number = UInt64(words[index + 1]) else { Self.explain() }
      switch words[index] {
      case "--rounds": rounds = number
      case "--seed": seed = number
      case "--seconds": seconds = Int64(clamping: number)
      default: Self.explain()
      }
    }
  }

  private static func explain() -> Never {
    Lines.write("usage: hostile-peers [--rounds N] [--seed S] [--seconds T]", to: 2)
    exit(2)
  }
}
