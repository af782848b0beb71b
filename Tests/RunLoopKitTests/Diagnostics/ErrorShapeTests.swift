import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Users tell the errors of a call apart in any of these shapes.
final class ErrorShapeTests: XCTestCase {
  private typealias Letter = ErrorShapes.Letter
  private typealias Shapes = ErrorShapes
  private typealias Shape = @Sendable (Letter) throws -> Int

  /// The answers of each shape: sent, the port is full, the port is gone. Other errors are passed on.
  func test_RLK_ERROR_9_patternsOfEveryShape() throws {
    let shapes: [(String, Shape)] = [
      ("two clauses", Shapes.twoClauses), ("a list", Shapes.aList), ("members", Shapes.members),
      ("where", Shapes.aCondition), ("a name and where", Shapes.aNameAndACondition),
      ("a cast", Shapes.aCast), ("a last clause", Shapes.aLastClause), ("another error", Shapes.anotherError),
      ("while", Shapes.aWhile), ("for", Shapes.aFor), ("nested", Shapes.nested),
      ("defer", Shapes.aDefer), ("a mixed body", Shapes.aMixedBody),
      ("a closure", Shapes.aClosure), ("a captured variable", Shapes.aCapturedVariable),
      ("a generic function", { try Shapes.aGeneric($0, of: [0, 1, 2]) }),
      ("an initialiser", { try Shapes.Sent($0).answer }), ("a class", { try Shapes.Sender().send($0) }),
      ("a switch", Shapes.aSwitch), ("a switch with members", Shapes.aSwitchOverMembers), ("an if", Shapes.anIf),
    ]
    for (name, shape) in shapes {
      let letters = try Shapes.Letters()
      XCTAssertEqual(try letters.known.map(shape), [0, 1, 2], name)
      XCTAssertEqual(thrown { try shape(letters.unknown) }, .system(EBADF), name)
    }
  }

  func test_RLK_ERROR_9_patternsInAsyncFunctions() async throws {
    let office = Shapes.Office()
    let shapes: [(String, @Sendable (Letter) async throws -> Int)] = [
      ("a function", Shapes.asyncFunction), ("a loop", Shapes.asyncLoop), ("a task", Shapes.task),
      ("members", Shapes.asyncMembers), ("an actor", { try await office.send($0) }),
    ]
    for (name, shape) in shapes {
      let letters = try Shapes.Letters()
      for (number, letter) in letters.known.enumerated() {
        let answer = try await shape(letter)
        XCTAssertEqual(answer, number, name)
      }
      do {
        _ = try await shape(letters.unknown)
        XCTFail("\(name): nothing was thrown")
      } catch RunLoopError.system(EBADF) {}
    }
  }

  func test_RLK_ERROR_9_aPatternMatchesNoOtherError() {
    for error in [CancellationError(), RunLoopError.portFull, RunLoopError.system(10)] as [any Error] {
      switch error {
      case RunLoopError.timedOut, RunLoopError.loopEnded: XCTFail("\(error)")
      default: break
      }
    }
  }
}

// MARK: What is sent

extension ErrorShapes {
  struct Letter: Sendable {
    let right: RunLoop.Port.SendRight
    let message: RunLoop.Message
  }

  struct Letters {
    private let open = RunLoop.Port { _, _ in }
    private let full = RunLoop.Port(queueLimit: 1) { _, _ in }
    private let gone = RunLoop.Port { _, _ in }
    /// Its number is taken: a message with it is refused.
    private let descriptor: RunLoop.Message.Descriptor

    init() throws {
      descriptor = try RunLoop.Message.Descriptor(owning: Int32.max)
      try full.sendRight.trySend(RunLoop.Message())
      gone.invalidate()
      _ = try descriptor.take()
    }

    var known: [Letter] { [open, full, gone].map { Letter(right: $0.sendRight, message: RunLoop.Message()) } }

    var unknown: Letter { Letter(right: open.sendRight, message: RunLoop.Message([.descriptor(descriptor)])) }
  }
}
