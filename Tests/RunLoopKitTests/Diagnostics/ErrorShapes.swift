import RunLoopKit

import class RunLoopKit.RunLoop

/// The ways in which users tell the errors of a call apart.
///
/// The compiler of Swift 6.3.1 crashes on most of them if the call throws by type (decision 0024): that this file
/// compiles is half of the test. A shape makes the call itself, and has a variable: without one, the compiler survives.
enum ErrorShapes {}

// MARK: Clauses

extension ErrorShapes {
  @Sendable static func twoClauses(_ letter: Letter) throws -> Int {
    var answer = 0
    do {
      try letter.right.trySend(letter.message)
    } catch RunLoopError.portFull {
      answer = 1
    } catch RunLoopError.portInvalid {
      answer = "\(answer)".count + 1
    }
    return answer
  }

  @Sendable static func aList(_ letter: Letter) throws -> Int {
    var isRefused = false
    do {
      try letter.right.trySend(letter.message)
    } catch RunLoopError.portFull, RunLoopError.portInvalid {
      isRefused = true
    }
    return isRefused ? letter.right.isValid ? 1 : 2 : 0
  }

  @Sendable static func members(_ letter: Letter) throws -> Int {
    var answer = 0
    do {
      try letter.right.trySend(letter.message)
    } catch .portFull {
      answer = 1
    } catch .portInvalid {
      answer = 2
    }
    return answer
  }

  @Sendable static func aCondition(_ letter: Letter) throws -> Int {
    var answer = 0
    do {
      try letter.right.trySend(letter.message)
    } catch RunLoopError.portFull where letter.right.isValid {
      answer += 1
    } catch RunLoopError.portInvalid where !letter.right.isValid {
      answer += 2
    }
    return answer
  }

  @Sendable static func aNameAndACondition(_ letter: Letter) throws -> Int {
    var answer = 0
    do {
      try letter.right.trySend(letter.message)
    } catch let error as RunLoopError where error == .portFull {
      answer = 1
    } catch let error as RunLoopError where error == .portInvalid {
      answer = "\(error.code)".count
    }
    return answer
  }

  @Sendable static func aCast(_ letter: Letter) throws -> Int {
    var answer = 0
    do {
      try letter.right.trySend(letter.message)
    } catch let error as RunLoopError {
      guard error.domain == .runLoop else { throw error }
      answer = error == .portFull ? 1 : 2
    }
    return answer
  }

  @Sendable static func aLastClause(_ letter: Letter) throws -> Int {
    var answer = 0
    do {
      try letter.right.trySend(letter.message)
    } catch RunLoopError.portFull {
      answer = 1
    } catch {
      guard !letter.right.isValid else { throw error }
      answer = 2
    }
    return answer
  }

  @Sendable static func anotherError(_ letter: Letter) throws -> Int {
    struct Refusal: Error { let reason: String }
    var answer = 0
    do {
      do {
        try letter.right.trySend(letter.message)
      } catch RunLoopError.portFull {
        answer += 1
        throw Refusal(reason: "full \(answer)")
      } catch RunLoopError.portInvalid {
        answer += 2
        throw Refusal(reason: "gone \(answer)")
      }
    } catch let refusal as Refusal {
      return refusal.reason == "full 1" ? 1 : refusal.reason == "gone 2" ? 2 : 3
    }
    return answer
  }
}

// MARK: What is around them

extension ErrorShapes {
  @Sendable static func aWhile(_ letter: Letter) throws -> Int {
    var (answer, round) = (0, 0)
    while round < 2 {
      round += 1
      do {
        try letter.right.trySend(letter.message)
        break
      } catch RunLoopError.portFull {
        answer = 1
        continue
      } catch RunLoopError.portInvalid {
        answer = round
      }
    }
    return answer
  }

  @Sendable static func aFor(_ letter: Letter) throws -> Int {
    for answer in 1...2 {
      do {
        try letter.right.trySend(letter.message)
        return 0
      } catch RunLoopError.portFull {
        return 1
      } catch RunLoopError.portInvalid where answer == 1 {
        continue
      } catch RunLoopError.portInvalid {
        return answer
      }
    }
    return 3
  }

  @Sendable static func nested(_ letter: Letter) throws -> Int {
    var answer = 0
    do {
      do {
        try letter.right.trySend(letter.message)
      } catch RunLoopError.portFull {
        answer = 1
      }
    } catch RunLoopError.portInvalid {
      answer = 2
    }
    return answer
  }

  @Sendable static func aDefer(_ letter: Letter) throws -> Int {
    var (answer, ends) = (0, 0)
    func send() throws {
      defer { ends += 1 }
      do {
        defer { ends += 1 }
        try letter.right.trySend(letter.message)
      } catch RunLoopError.portFull {
        answer = 1
      } catch RunLoopError.portInvalid {
        answer = 2
      }
    }
    try send()
    return ends == 2 ? answer : 3
  }

  @Sendable static func aMixedBody(_ letter: Letter) throws -> Int {
    func lookAround() throws { try Task.checkCancellation() }
    var answer = 0
    do {
      try lookAround()
      try letter.right.trySend(letter.message)
    } catch RunLoopError.portFull {
      answer = 1
    } catch RunLoopError.portInvalid {
      answer = 2
    }
    return answer
  }

  @Sendable static func aClosure(_ letter: Letter) throws -> Int {
    var answer = 0
    let send = {
      do {
        try letter.right.trySend(letter.message)
      } catch RunLoopError.portFull {
        answer = 1
      } catch RunLoopError.portInvalid {
        answer = "\(answer)".count + 1
      }
    }
    try send()
    return answer
  }

  @Sendable static func aCapturedVariable(_ letter: Letter) throws -> Int {
    var answer = 0
    let bodies = [{ answer += 1 }, { answer += 2 }]
    do {
      try letter.right.trySend(letter.message)
    } catch RunLoopError.portFull {
      bodies[0]()
    } catch RunLoopError.portInvalid {
      bodies[1]()
    }
    return answer
  }

  static func aGeneric<T>(_ letter: Letter, of values: [T]) throws -> T {
    var answer = values[0]
    do {
      try letter.right.trySend(letter.message)
    } catch RunLoopError.portFull {
      answer = values[1]
    } catch RunLoopError.portInvalid {
      answer = values[2]
    }
    return answer
  }

  struct Sent {
    var answer = 0

    init(_ letter: Letter) throws {
      do {
        try letter.right.trySend(letter.message)
      } catch RunLoopError.portFull {
        answer = 1
      } catch RunLoopError.portInvalid {
        answer = 2
      }
    }
  }

  final class Sender {
    private var answer = 0

    func send(_ letter: Letter) throws -> Int {
      do {
        try letter.right.trySend(letter.message)
      } catch RunLoopError.portFull {
        answer = 1
      } catch RunLoopError.portInvalid {
        answer = "\(answer)".count + 1
      }
      return answer
    }
  }
}

// MARK: A switch instead

extension ErrorShapes {
  @Sendable static func aSwitch(_ letter: Letter) throws -> Int {
    var answer = 0
    do {
      try letter.right.trySend(letter.message)
    } catch {
      switch error {
      case RunLoopError.portFull: answer = 1
      case RunLoopError.portInvalid: answer = 2
      default: throw error
      }
    }
    return answer
  }

  @Sendable static func aSwitchOverMembers(_ letter: Letter) throws -> Int {
    var answer = 0
    do {
      try letter.right.trySend(letter.message)
    } catch {
      switch error {
      case .portFull: answer = 1
      case .portInvalid: answer = "\(answer)".count + 1
      default: throw error
      }
    }
    return answer
  }

  @Sendable static func anIf(_ letter: Letter) throws -> Int {
    var answer = 0
    do {
      try letter.right.trySend(letter.message)
    } catch {
      if case RunLoopError.portFull = error {
        answer = 1
      } else if error as? RunLoopError == .portInvalid {
        answer = 2
      } else {
        throw error
      }
    }
    return answer
  }
}

// MARK: Tasks

extension ErrorShapes {
  @Sendable static func asyncFunction(_ letter: Letter) async throws -> Int {
    var answer = 0
    do {
      await Task.yield()
      try letter.right.trySend(letter.message)
    } catch RunLoopError.portFull {
      answer = 1
    } catch RunLoopError.portInvalid {
      answer = "\(answer)".count + 1
    }
    return answer
  }

  @Sendable static func asyncLoop(_ letter: Letter) async throws -> Int {
    var answer = 0
    for round in 1...2 {
      do {
        try letter.right.trySend(letter.message)
      } catch RunLoopError.portFull {
        await Task.yield()
        answer = 1
      } catch RunLoopError.portInvalid where round == 2 {
        answer = round
      } catch .portInvalid {}
    }
    return answer
  }

  @Sendable static func task(_ letter: Letter) async throws -> Int {
    try await Task {
      var answer = 0
      do {
        try letter.right.trySend(letter.message)
      } catch RunLoopError.portFull {
        answer = 1
      } catch RunLoopError.portInvalid {
        answer = 2
      }
      return answer
    }.value
  }

  @Sendable static func asyncMembers(_ letter: Letter) async throws -> Int {
    var answer = 0
    do {
      try letter.right.trySend(letter.message)
      await Task.yield()
    } catch .portFull {
      answer = 1
    } catch .portInvalid {
      answer = 2
    }
    return answer
  }

  actor Office {
    private var answer = 0

    func send(_ letter: Letter) async throws -> Int {
      answer = 0
      do {
        try letter.right.trySend(letter.message)
      } catch RunLoopError.portFull {
        answer = 1
      } catch RunLoopError.portInvalid {
        answer = "\(answer)".count + 1
      }
      return answer
    }
  }
}
