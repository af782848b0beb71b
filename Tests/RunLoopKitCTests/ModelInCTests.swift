import CModel
import RunLoopKitC
import XCTest

import class RunLoopKit.RunLoop

/// The C face, by hosts in C (Tests/CModel), each on a thread of its own.
final class ModelInCTests: XCTestCase {
  private func runAll(_ tests: UnsafePointer<model_test>?) {
    var test = tests!
    var count = 0
    while let name = test.pointee.name {
      var words = [CChar](repeating: 0, count: 512)
      let failures = model_run(test, &words, words.count)
      if failures > 0 {
        let text = words.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        XCTFail("\(String(cString: name)): \(text), the first of \(failures)")
      }
      test += 1
      count += 1
    }
    XCTAssertGreaterThan(count, 0)
  }

  func testLoops() { runAll(model_loop_tests()) }
  func testItems() { runAll(model_item_tests()) }
  func testContexts() { runAll(model_context_tests()) }
  func testTimers() { runAll(model_timer_tests()) }
  func testPerforms() { runAll(model_perform_tests()) }

  func testSources() { runAll(model_source_tests()) }
  func testHosts() { runAll(model_host_tests()) }
  func testThreads() { runAll(model_thread_tests()) }
  func testForks() { runAll(model_fork_tests()) }
  func testDiagnostics() { runAll(model_diagnostics_tests()) }
  func testSizes() { runAll(model_size_tests()) }
  func testOptions() { runAll(model_option_tests()) }
  func testMessages() { runAll(model_message_tests()) }
  func testPorts() { runAll(model_port_tests()) }
  func testGuests() { runAll(model_guest_tests()) }
  func testCalloutsThatAreLeft() { runAll(model_left_tests()) }
  func testHostsThatAreLeft() { runAll(model_left_host_tests()) }

  func test_RLK_C_9_loopsCrossOver() {
    let loop = RunLoop.current
    XCTAssertEqual(loop.handle, model_current_loop())
    XCTAssertTrue(RunLoop.loop(ofHandle: model_current_loop()) === loop)
  }

  private final class Weak: @unchecked Sendable {
    weak var loop: RunLoop?
  }

  func test_RLK_C_9_aHandleHoldsNobody() throws {
    let kept = Weak()
    func useHandles() throws {
      let thread = RunLoop.Thread(name: "handles")
      try thread.start()
      let loop = try XCTUnwrap(thread.loop)
      kept.loop = loop
      for _ in 0..<3 { XCTAssertTrue(RunLoop.loop(ofHandle: loop.handle) === loop) }
      thread.stop()
      try thread.join()
    }
    try useHandles()
    XCTAssertNil(kept.loop)
  }
}
