extension RunLoop {
  /// What RunLoopKit says where no call could throw it, and who is told.
  public struct Diagnostics: Sendable {
    /// What a text is about.
    public enum Level: Sendable {
      /// A call has ignored something, or has taken a value for another one, without an error: an item that was not
      /// added, a run of a mode that does not exist [RLK-DIAG-2, RLK-DIAG-3]. Each is said once. For development and
      /// tests: it is no mistake everywhere.
      case hint
      /// Something that was asked for will not happen, or other code has closed what is the library's.
      case warning
    }

    /// What is said: that level and those above it. Nil: nothing. - Thread: Any.
    public var level: Level?

    /// Is given each text, which is one line without its end: control characters of names in it are escaped
    /// [RLK-DIAG-8]. Nil: standard error gets it, with "RunLoopKit: " in front of it.
    ///
    /// - Thread: Any: the one whose call is reported, or one that only tells it. - Re-entry: It may call everything; no
    ///   lock is held [RLK-DIAG-7].
    public var handler: (@Sendable (Level, String) -> Void)?

    /// Warnings, on standard error. - Thread: Any. `handler`: any, as the property.
    public init(level: Level? = .warning, handler: (@Sendable (Level, String) -> Void)? = nil) {
      self.level = level
      self.handler = handler
    }
  }

  /// What RunLoopKit says, and who is told [RLK-DIAG-7].
  ///
  /// At first warnings, on standard error; hints as well if the environment has `RUNLOOPKIT_DIAGNOSTICS` with anything
  /// but nothing or `0`. One line is written to standard error whoever is told: that a wake could not be written, which
  /// a signal handler may have asked for.
  /// - Thread: Any.
  /// - Blocks: A text, as its handler, or as write(2) to standard error, in the call that is reported.
  /// - Complexity: A call pays nothing where all is well, and a load where a hint would be said [RLK-DIAG-1].
  public static var diagnostics: Diagnostics {
    get { Diagnosis.settings.value }
    set { Diagnosis.settings.value = newValue }
  }
}
