extension RunLoop {
  /// What RunLoopKit reports although no call can throw it, and to whom.
  public struct Diagnostics: Sendable {
    /// How serious a report is.
    public enum Level: Sendable {
      /// A call ignored something, or used another value than it was given, without an error. Examples are an item that
      /// was not added, and a run of a mode that does not exist [RLK-DIAG-2, RLK-DIAG-3]. Each hint is reported once.
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

    /// Creates settings. By default RunLoopKit writes warnings to standard error.
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
  /// - Thread: Any.
  /// - Blocks: The call that is reported waits for the handler, or for write(2) to standard error.
  /// - Complexity: Calls without a report pay nothing. A call that would report a hint pays one load [RLK-DIAG-1].
  public static var diagnostics: Diagnostics {
    get { Diagnosis.settings.value }
    set { Diagnosis.settings.value = newValue }
  }
}
