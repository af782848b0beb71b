extension RunLoop {
  /// What RunLoopKit reports although no call can throw it, and to whom.
  public struct Diagnostics: Sendable {
    /// How serious a report is.
    public enum Level: Sendable {
      /// A call ignored something, used another value than it was given, or did nothing, without an error. Examples are
      /// an item that was not added, a run of a mode that does not exist, the first run of a loop that has nothing in
      /// any mode, and a call on an invalid item [RLK-DIAG-2, RLK-DIAG-3, RLK-DIAG-13].
      ///
      /// Hints also report mistakes that no call can refuse: a stop that found no run, when the next one begins
      /// [RLK-DIAG-12]; an item that was released and never added, unless it is a port [RLK-DIAG-14]; a mode that is
      /// named like a constant of `Mode` [RLK-DIAG-15]. A loop that was made while hints were on reports callouts that
      /// take more than a second, level-triggered callouts that leave their descriptor as it is 10,000 times in a row,
      /// closed descriptors, and signalled sources for which nothing has woken the loop [RLK-DIAG-11]. Only debug
      /// builds look for items that were never added and for such sources, since that costs each item and each signal
      /// something.
      ///
      /// Each text is reported once, or, if it has a figure, each item that it names. An item is named by its label, or
      /// by the line that made it, as in `SlowCallout.name`; without both it counts with its kind.
      /// Hints are for development and tests, since a program may intend what they report.
      case hint
      /// Something that the program asked for will not happen, or other code has closed a descriptor of the library.
      case warning
    }

    /// The lowest level that is reported. If it is nil, nothing is reported. - Thread: Any.
    public var level: Level?

    /// Called with the text of each report: one line, without a newline. Control characters in names are escaped
    /// [RLK-DIAG-8]. If it is nil, RunLoopKit writes the line to standard error, beginning with "RunLoopKit: ".
    ///
    /// - Thread: Any: the thread whose call is reported, or one that only delivers reports. - Re-entry: The handler may
    ///   call everything; no lock is held [RLK-DIAG-7].
    public var handler: (@Sendable (Level, String) -> Void)?

    /// Creates settings. By default RunLoopKit writes warnings to standard error. To keep the present level, set
    /// `RunLoop.diagnostics.handler` alone.
    /// - Thread: Any. `handler` is called on any thread.
    public init(level: Level? = .warning, handler: (@Sendable (Level, String) -> Void)? = nil) {
      self.level = level
      self.handler = handler
    }
  }

  /// What RunLoopKit reports, and to whom [RLK-DIAG-7].
  ///
  /// At first RunLoopKit writes warnings to standard error. A debug build also writes hints: SwiftPM builds a program
  /// and this library in one configuration. The environment variable `RUNLOOPKIT_DIAGNOSTICS` decides for either build:
  /// `1` asks for hints, `0` for warnings alone, and an empty value counts as none [RLK-DIAG-10]. One report goes to
  /// standard error even if there is a handler: that a wake could not be written, since a signal handler may have asked
  /// for the wake.
  ///
  /// ```swift
  /// RunLoop.diagnostics = RunLoop.Diagnostics(level: .hint) { level, _ in
  ///   print("reported:", level)  // prints reported: hint
  /// }
  /// print(try RunLoop.current.run(in: "nothing"))  // prints finished
  /// ```
  /// - Thread: Any.
  /// - Blocks: The call that is reported waits for the handler, or for write(2) to standard error.
  /// - Complexity: Calls without a report pay nothing. A call that would report a hint, and the making of a loop, pay
  ///   one load [RLK-DIAG-1]. A loop that was made while hints were on counts what it does, as with
  ///   `collectsStatistics`, and reads the clock twice more for each callout.
  public static var diagnostics: Diagnostics {
    get { Diagnosis.settings.value }
    set { Diagnosis.settings.value = newValue }
  }
}
