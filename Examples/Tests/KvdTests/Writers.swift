import Glibc
import TestSupport

/// Clients that write without waiting, and remember what was answered. The judge of what may not be lost.
struct Writers {
  private var clients: [Connection]
  /// By key: the last number that was sent, and the last that was answered `OK`.
  private(set) var sent: [String: Int] = [:]
  private(set) var acknowledged: [String: Int] = [:]
  private(set) var answers = 0
  private var lastNumber: Int
  /// By client: what is sent and not answered.
  private var waiting: [[(String, Int)]]
  private let filler: String

  /// - Parameter after: Numbers go on from there, so that a value tells when it was written.
  init(to kvd: Kvd, count: Int = 4, after: Int = 0, valueSize: Int = 20) throws {
    clients = try (0..<count).map { _ in try Connection(to: kvd.port) }
    waiting = clients.map { _ in [] }
    lastNumber = after
    filler = String(repeating: ".", count: valueSize)
  }

  var last: Int { lastNumber }

  /// Until there are so many more `OK`: what is sent after that has no answer yet.
  mutating func write(_ count: Int, random: inout Random) throws {
    let target = answers + count
    while answers < target {
      for (index, client) in clients.enumerated() {
        let requests = (0..<Int.random(in: 1...8, using: &random)).map { _ in
          lastNumber += 1
          // A key is one client's: the order of its writes is known.
          return ("c\(index)k\(Int.random(in: 0..<5, using: &random))", lastNumber)
        }
        try client.send(requests.map { "SET \($0.0) \($0.1) \(filler)\n" }.joined())
        for (key, number) in requests { sent[key] = number }
        waiting[index] += requests
      }
      for (index, client) in clients.enumerated() where answers < target {
        let takes = Int.random(in: 0...waiting[index].count, using: &random)
        for (key, number) in waiting[index].prefix(takes) where answers < target {
          guard try client.answers.next() == "OK" else { throw Connection.Failure(description: "no OK for \(key)") }
          acknowledged[key] = number
          answers += 1
          waiting[index].removeFirst()
        }
      }
    }
  }

  /// Closes the connections.
  mutating func leave() { clients = [] }

  /// What is wrong in a daemon that has started again: older than what was answered, newer than what was sent.
  func complaints(about kvd: Kvd, earlier: [String: Int]) throws -> [String] {
    let client = try Connection(to: kvd.port)
    var complaints: [String] = []
    for key in Set(earlier.keys).union(sent.keys).sorted() {
      let least = max(acknowledged[key] ?? 0, earlier[key] ?? 0)
      let most = max(sent[key] ?? 0, least)
      let answer = try client.ask("GET \(key)") ?? "the end"
      let number = answer.hasPrefix("VALUE ") ? Int(answer.split(separator: " ")[1]) ?? -1 : 0
      if number < least || number > most { complaints.append("\(key): \(answer), not \(least)...\(most)") }
    }
    return complaints
  }

  /// What is there now, as the next round's `earlier`.
  func state(of kvd: Kvd, earlier: [String: Int]) throws -> [String: Int] {
    let client = try Connection(to: kvd.port)
    var state: [String: Int] = [:]
    for key in Set(earlier.keys).union(sent.keys) {
      if let answer = try client.ask("GET \(key)"), answer.hasPrefix("VALUE ") {
        state[key] = Int(answer.split(separator: " ")[1])
      }
    }
    return state
  }
}
