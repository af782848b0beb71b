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

  /// Reports why a run has returned `.finished` before its first pass. If a loop that has run before has nothing in any
  /// mode, or only items in the background, its work is done, and nothing is reported. - Thread: The loop's own.
  @inline(never)
  func explainFinished(_ name: Mode) {
    guard Diagnosis.reportsHints, name != .common else { return }
    let (isKnown, inBackground, lacksCommonItems, filled) = lock.withLock {
      let modes = state.modes
      return (
        modes.contains { $0.name == name },
        state.mode(name)?.counts.background.count ?? 0,
        !state.isCommon(name) && !state.commonItems.all.isEmpty,
        modes.filter { !$0.counts.hasNoItems || state.companions.hasWork(for: $0) }.map { $0.name }
      )
    }
    name.explainMistake()
    var others = filled.isEmpty ? "no mode has anything in it" : "there is something in \(Self.list(filled))"
    if lacksCommonItems { others += "; addCommonMode(\"\(name)\") adds what is in .common" }
    if !isKnown {
      Diagnosis.hint("run(in: \"\(name)\"): the loop has no such mode, and the run is finished at once; \(others)")
    } else if inBackground > 0, owner.runs == 0 {
      Diagnosis.hint(
        "run(in: \"\(name)\"): only items in the background are in this mode, and the run is finished at once; "
          + "set keepsRunning of one of them, or call runUntilStopped(in:)")
    } else if !filled.isEmpty || owner.runs == 0 {
      Diagnosis.hint("run(in: \"\(name)\"): nothing is in this mode, and the run is finished at once; \(others)")
    }
  }

  private static func list(_ modes: [Mode]) -> String { modes.map { "\"\($0)\"" }.sorted().joined(separator: ", ") }
}

extension RunLoop.Mode {
  /// Reports that the mode has the name of a constant in the source, and not the constant's value. The caller may hold
  /// a lock.
  @inline(never)
  func explainMistake() {
    guard Diagnosis.reportsHints else { return }
    let meant: RunLoop.Mode
    switch rawValue {
    case "default": meant = .default
    case "common": meant = .common
    case "tracking": meant = .tracking
    default: return
    }
    let text =
      "RunLoop.Mode(\"\(rawValue)\") is a mode of its own, not RunLoop.Mode.\(rawValue), whose name is \"\(meant)\"; "
      + "write .\(rawValue)"
    Diagnosis.hintLocked(once: text, text)
  }
}

extension RunLoop.Port {
  /// Reports a message that could not be sent. The error says it, too, but `try?` hides the error.
  @inline(never)
  static func explainClosed() {
    guard Diagnosis.reportsHints else { return }
    let text =
      "send: the port is gone, and the message is not sent; a port ends when it is invalidated or released, and with "
      + "the last loop that served it"
    Diagnosis.hintLocked(once: text, text)
  }
}

extension RunLoop.Item {
  /// Reports that a call did nothing, because the item is invalid. The caller may hold a lock.
  @inline(never)
  final func explainInvalid(_ call: StaticString) {
    guard Diagnosis.reportsHints, !isHidden else { return }
    let why =
      isForked
      ? "was made by the parent process; make another one after fork(2)"
      : kind == .timer
        ? "is invalid; an invalidated timer is over, as is a one-shot timer that has fired: make it rearmable"
        : "is invalid; an invalidated item is over: make another one"
    let text = "\(call): \(nameForDiagnostics) \(why)"
    Diagnosis.hintLocked(once: text, text)
  }

  #if DEBUG
    /// Reports that the item ends and was never a member of a mode. Ports and connections may work without a loop. The
    /// caller may hold a lock.
    @inline(never)
    final func explainNeverAdded() {
      guard Diagnosis.reportsHints, !isForked, !isHidden else { return }
      switch kind {
      case .port, .connection: return
      case .source, .portSource, .descriptorSource, .eventSource, .timer, .observer: break
      }
      let text =
        "\(nameForDiagnostics) was released and never added to a loop; add(_:to:) makes the loop call and retain it"
      Diagnosis.hintLocked(once: text, text)
    }
  #endif

  /// The item's kind, and its label or, without one, the line that made it, if that is known. A hint with the same text
  /// is reported only once, so this must not vary between calls.
  final var nameForDiagnostics: String {
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
    return BlockName(label, at: place).text(behind: name)
  }
}

extension BlockName {
  /// Appends the label to what has it or, without one, the line, if that is known.
  func text(behind kind: String) -> String {
    kind + (label.map { " \"\($0)\"" } ?? place.text.map { " at \($0)" } ?? "")
  }
}
