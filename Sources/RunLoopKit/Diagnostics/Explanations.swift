// The hints that explain why a call did nothing.

extension RunLoop {
  /// Reports why `add(_:to:)` returned false. Reports nothing about an item that is a member already.
  @inline(never)
  func explainIgnored(_ item: Item, _ mode: Mode) {
    guard Diagnosis.reportsHints else { return }
    let what = "add(_:to: \"\(mode)\"): \(item.nameForDiagnostics)"
    if item.isForked {
      Diagnosis.hint("\(what) was made by the parent process and is not added; make another one after fork(2)")
    } else if item.isInvalidated {
      Diagnosis.hint(
        "\(what) is invalid and is not added; an invalidated item is over, as is a one-shot timer "
          + "that has fired")
    } else if !item.isFree(for: self) {
      Diagnosis.hint(
        "\(what) is in another loop and is not added; a timer and an observer belong to "
          + "one loop at a time")
    }
  }

  /// Reports why a run has returned `.finished` before its first pass.
  @inline(never)
  func explainFinished(_ name: Mode) {
    guard Diagnosis.reportsHints, name != .common else { return }
    let (isKnown, filled) = lock.withLock {
      let modes = state.modes
      return (
        modes.contains { $0.name == name },
        modes.filter { !$0.counts.hasNoItems || state.companions.hasWork(for: $0) }.map { $0.name }
      )
    }
    let others = filled.isEmpty ? "no mode has anything in it" : "there is something in \(Self.list(filled))"
    if !isKnown {
      Diagnosis.hint("run(in: \"\(name)\"): the loop has no such mode, and the run is finished at once; \(others)")
    } else if !filled.isEmpty {
      Diagnosis.hint("run(in: \"\(name)\"): nothing is in this mode, and the run is finished at once; \(others)")
    }
  }

  private static func list(_ modes: [Mode]) -> String { modes.map { "\"\($0)\"" }.sorted().joined(separator: ", ") }
}

extension RunLoop.Item {
  /// The item's kind and label. A hint with the same text is reported only once, so this must not vary between calls.
  fileprivate final var nameForDiagnostics: String {
    let name =
      switch kind {
      case .source: "a source"
      case .port: "a port"
      case .portSource: "a port source"
      case .descriptorSource: "a descriptor source"
      case .eventSource, .connection: "an event source"
      case .timer: "a timer"
      case .observer: "an observer"
      }
    return name + labelText
  }
}
