import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Descriptors of other packages' types.
final class TypedDescriptorTests: XCTestCase {
  /// As swift-system declares its `FileDescriptor`.
  private struct Handle: RawRepresentable, Hashable {
    let rawValue: CInt

    init(rawValue: CInt) { self.rawValue = rawValue }
  }

  private enum Standard: CInt {
    case input = 0
  }

  func test_RLK_FD_45_aSourceTakesADescriptorOfAnyType() {
    onThread {
      let (loop, calls) = (RunLoop.current, Box<[String]>([]))
      let counters = (0..<6).map { _ in EventCounter() }
      defer { withExtendedLifetime(counters) {} }
      for counter in counters { counter.add() }
      let handles = counters.map { Handle(rawValue: $0.descriptor) }
      let note: @Sendable (RunLoop.Item) -> Void = { item in
        calls.update { $0.append(item.label ?? "") }
        item.invalidate()
      }
      let items: [RunLoop.Item] = [
        try RunLoop.FileDescriptorSource(fileDescriptor: handles[0], interest: .readable) { item, _ in note(item) },
        try RunLoop.PortSource(fileDescriptor: handles[1]) { note($0) },
        try loop.fileDescriptorSource(fileDescriptor: handles[2], interest: .readable) { item, _ in note(item) },
        try loop.portSource(fileDescriptor: handles[3]) { note($0) },
      ]
      let own = try loop.assumeOnLoop { local in
        [
          try local.fileDescriptorSource(fileDescriptor: handles[4], interest: .readable) { item, _ in note(item) },
          try local.portSource(fileDescriptor: handles[5]) { note($0) },
        ] as [RunLoop.Item]
      }
      for item in items.prefix(2) { try loop.add(item) }
      for (number, item) in (items + own).enumerated() { item.label = "\(number)" }
      XCTAssertEqual(try loop.run(for: .seconds(60)), .finished)
      XCTAssertEqual(calls.value.sorted(), (0..<6).map { "\($0)" })
    }
  }

  func test_RLK_FD_45_theOptionsAreThoseOfANumber() throws {
    let (pipe, limit) = (Pipe(), RunLoop.RateLimit(count: 1, per: .seconds(1)))
    let source = try RunLoop.FileDescriptorSource(
      fileDescriptor: Handle(rawValue: pipe.reading), interest: .writable, trigger: .oneShot,
      ownership: .closesWhenInvalidated, limit: limit, order: 3
    ) { _, _ in }
    XCTAssertTrue(source.fileDescriptor == pipe.reading && source.interest == .writable && source.order == 3)
    source.invalidate()
    XCTAssertFalse(pipe.hasReader)
    close(pipe.writing)
    // A number is still a number, and a literal one.
    XCTAssertEqual(thrown { try RunLoop.PortSource(fileDescriptor: -1) { _ in } }?.errno, EBADF)
    XCTAssertEqual(thrown { try RunLoop.PortSource(fileDescriptor: Handle(rawValue: -1)) { _ in } }?.errno, EBADF)
    XCTAssertEqual(try RunLoop.PortSource(fileDescriptor: Standard.input, order: 4) { _ in }.order, 4)
  }

  func test_RLK_FD_45_aMessageTakesADescriptorOfAnyType() throws {
    let pipe = Pipe()
    let duplicate = try RunLoop.Message.Descriptor(duplicating: Handle(rawValue: pipe.reading))
    XCTAssertNotEqual(duplicate.fileDescriptor, pipe.reading)
    let owned = try RunLoop.Message.Descriptor(owning: Handle(rawValue: pipe.reading))
    XCTAssertEqual(owned.fileDescriptor, pipe.reading)
    XCTAssertTrue(pipe.hasReader)
    close(try duplicate.take())
    close(try owned.take())
    XCTAssertFalse(pipe.hasReader)
    close(pipe.writing)
  }

  func test_RLK_FD_45_theSequenceOfADescriptorOfAnyType() {
    onThread {
      let (loop, pipe) = (RunLoop.current, Pipe())
      defer { pipe.closeBoth() }
      pipe.send("x")
      let ready: RunLoop.ReadinessSequence = try loop.readiness(of: Handle(rawValue: pipe.reading))
      let found = Box<RunLoop.Readiness?>(nil)
      Task {
        for try await element in ready {
          found.value = element
          break
        }
        loop.stop()
      }
      try loop.add(RunLoop.Timer.never())
      XCTAssertEqual(try loop.run(for: .seconds(60)), .stopped)
      XCTAssertEqual(found.value, .readable)
    }
  }
}
