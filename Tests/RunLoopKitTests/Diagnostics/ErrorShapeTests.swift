import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// The ways to tell errors apart that the compiler of Swift 6.3.1 compiles, also in a function that throws any error
/// (decision 0024). Each function has a variable and an interpolated string: without these it survives other ways, too.
final class ErrorShapeTests: XCTestCase {
  private struct Other: Error, Equatable {}

  private static func typed(_ error: RunLoopError?) throws(RunLoopError) -> Int {
    if let error { throw error }
    return 0
  }

  private static func untyped(_ error: (any Error)?) throws -> Int {
    if let error { throw error }
    return 0
  }

  /// 1: timed out; 2: ended; 0: nothing was thrown. Other errors are passed on.
  private typealias Shape = (RunLoopError?) throws -> Int

  private static func aSwitch(_ error: RunLoopError?) throws -> Int {
    var answer = 0
    do {
      answer = try typed(error)
    } catch {
      switch error {
      case .timedOut: answer = 1
      case .loopEnded: answer = "\(answer)".count + 1
      default: throw error
      }
    }
    return answer
  }

  private static func aLastCatch(_ error: RunLoopError?) throws -> Int {
    var answer = 0
    do {
      answer = try typed(error)
    } catch RunLoopError.timedOut {
      answer = 1
    } catch RunLoopError.loopEnded {
      answer = "\(answer)".count + 1
    } catch {
      throw error
    }
    return answer
  }

  private static func aCondition(_ error: RunLoopError?) throws -> Int {
    var answer = 0
    do {
      answer = try typed(error)
    } catch {
      if error == .timedOut { answer = 1 } else if case .loopEnded = error { answer = 2 } else { throw error }
    }
    return answer
  }

  /// The errors of several calls: any error.
  private static func aMixedBody(_ error: RunLoopError?) throws -> Int {
    var answer = 0
    do {
      answer = try typed(error) + untyped(nil)
    } catch RunLoopError.timedOut {
      answer = 1
    } catch RunLoopError.loopEnded {
      answer = "\(answer)".count + 1
    }
    return answer
  }

  private static func aFunctionOfItsOwn(_ error: RunLoopError?) throws(RunLoopError) -> Int {
    var answer = 0
    do {
      answer = try typed(error)
    } catch .timedOut {
      answer = 1
    } catch .loopEnded {
      answer = "\(answer)".count + 1
    }
    return answer
  }

  private static func aClosure(_ error: RunLoopError?) throws -> Int {
    var answer = 0
    let body = {
      do {
        answer = try typed(error)
      } catch {
        switch error {
        case .timedOut: answer = 1
        case .loopEnded: answer = "\(answer)".count + 1
        default: throw error
        }
      }
    }
    try body()
    return answer
  }

  private static func aGeneric<T>(_ error: RunLoopError?, _ values: [T]) throws -> T {
    var answer = values[0]
    do {
      answer = values[try typed(error)]
    } catch {
      switch error {
      case .timedOut: answer = values[1]
      case .loopEnded: answer = values[2]
      default: throw error
      }
    }
    return answer
  }

  private static func anAsyncOne(_ error: RunLoopError?) async throws -> Int {
    var answer = 0
    do {
      await Task.yield()
      answer = try typed(error)
    } catch {
      switch error {
      case .timedOut: answer = 1
      case .loopEnded: answer = "\(answer)".count + 1
      default: throw error
      }
    }
    return answer
  }

  private let errors: [RunLoopError?] = [nil, .timedOut, .loopEnded]

  func test_RLK_ERROR_9_patternsOfEveryShape() {
    let shapes: [(String, Shape)] = [
      ("switch", Self.aSwitch), ("last catch", Self.aLastCatch), ("condition", Self.aCondition),
      ("mixed body", Self.aMixedBody), ("function of its own", Self.aFunctionOfItsOwn), ("closure", Self.aClosure),
      ("generic", { try Self.aGeneric($0, [0, 1, 2]) }),
    ]
    for (name, shape) in shapes {
      XCTAssertEqual(errors.map { try? shape($0) }, [0, 1, 2], name)
      XCTAssertThrowsError(try shape(.portFull), name) { XCTAssertEqual($0 as? RunLoopError, .portFull, name) }
    }
  }

  func test_RLK_ERROR_9_patternsInAnAsyncFunction() async throws {
    for (number, error) in errors.enumerated() {
      let answer = try await Self.anAsyncOne(error)
      XCTAssertEqual(answer, number)
    }
    do {
      _ = try await Self.anAsyncOne(.portFull)
      XCTFail("nothing was thrown")
    } catch {
      XCTAssertEqual(error as? RunLoopError, .portFull)
    }
  }

  func test_RLK_ERROR_9_aPatternMatchesNoOtherError() {
    for error in [Other(), RunLoopError.portFull, RunLoopError.system(10)] as [any Error] {
      switch error {
      case RunLoopError.timedOut, RunLoopError.loopEnded: XCTFail("\(error)")
      default: break
      }
      XCTAssertThrowsError(try Self.untyped(error))
    }
  }
}
