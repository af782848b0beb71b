import RunLoopKit
import Synchronization

/// The lines that a scenario produces, from all threads.
final class Trace: Sendable {
  struct Line: Equatable {
    let text: String
    /// The activity of an observer's line; empty for all other lines.
    var activity: RunLoop.Activity = []
    /// Neighbouring lines of one group, except `none`, have no specified order.
    var group = Group.none

    enum Group: Equatable {
      case none
      case release
      /// A verb and an item.
      case membership(String)
    }
  }

  private struct State {
    var lines: [Line] = []
    var isClosed = false
  }

  private let state = Mutex(State())

  /// Appends a line; does nothing once the trace is closed. Returns false if it is full. Any thread may call it.
  func append(_ line: Line) -> Bool {
    state.withLock { state in
      guard !state.isClosed else { return true }
      guard state.lines.count < Limits.traceLines else { return false }
      state.lines.append(line)
      return true
    }
  }

  /// Makes `append` ignore later lines.
  func close() {
    state.withLock { $0.isClosed = true }
  }

  /// Closes the trace, and returns the normalised text.
  func finish(collapsingIdleWakes: Bool) -> String {
    let lines = state.withLock { state in
      state.isClosed = true
      return state.lines
    }
    let collapsed = collapsingIdleWakes ? TraceNormalisation.collapsingIdleWakes(lines) : lines
    return TraceNormalisation.sortingUnordered(collapsed).map { $0.text + "\n" }.joined()
  }
}

/// Section 7 of docs/scenario-language.md: removes lines that are allowed but not required, and sorts lines without a
/// specified order.
enum TraceNormalisation {
  /// Replaces G(before-waiting) G(after-waiting) G(before-timers)? G(before-sources)? G(before-waiting) by its first
  /// group, repeatedly. G(x) is a maximal group of neighbouring lines of activity x.
  static func collapsingIdleWakes(_ lines: [Trace.Line]) -> [Trace.Line] {
    var result: [Trace.Line] = []
    var index = 0
    while index < lines.count {
      guard lines[index].activity == .beforeWaiting else {
        result.append(lines[index])
        index += 1
        continue
      }
      let groupEnd = end(of: .beforeWaiting, in: lines, from: index)
      result += lines[index..<groupEnd]
      index = groupEnd
      while let next = endOfIdleWake(in: lines, from: index) { index = next }
    }
    return result
  }

  private static func end(of activity: RunLoop.Activity, in lines: [Trace.Line], from start: Int) -> Int {
    lines[start...].firstIndex { $0.activity != activity } ?? lines.count
  }

  /// Returns the end of the idle wake that starts at `start` with after-waiting, and ends with the next before-waiting
  /// group.
  private static func endOfIdleWake(in lines: [Trace.Line], from start: Int) -> Int? {
    let afterWaiting = end(of: .afterWaiting, in: lines, from: start)
    guard afterWaiting > start else { return nil }
    let beforeTimers = end(of: .beforeTimers, in: lines, from: afterWaiting)
    let beforeSources = end(of: .beforeSources, in: lines, from: beforeTimers)
    let beforeWaiting = end(of: .beforeWaiting, in: lines, from: beforeSources)
    return beforeWaiting > beforeSources ? beforeWaiting : nil
  }

  /// Sorts neighbouring lines of one group as byte strings with their thread prefix.
  static func sortingUnordered(_ lines: [Trace.Line]) -> [Trace.Line] {
    var result = lines
    var start = 0
    while start < result.count {
      let group = result[start].group
      let end = result[start...].firstIndex { $0.group != group } ?? result.count
      if group != .none {
        result[start..<end].sort { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
      }
      start = end
    }
    return result
  }
}
