extension RunLoop {
  /// Scopes in the style of autorelease pools: the end of a scope releases the objects and runs the actions that were
  /// put into it, the last first [RLK-SCOPE-1].
  ///
  /// Every run opens a scope before its entry observers. It empties the scope after the before-waiting observers, at
  /// the end of a pass that polls, and after the exit observers. Nested runs nest scopes [RLK-SCOPE-2, RLK-SCOPE-3].
  /// When a host's call notifies observers, it opens a scope for them. Outside of all scopes, objects and actions wait
  /// for the end of the thread [RLK-SCOPE-4]. These steps of the pass are fixed, whatever the order of observers is.
  ///
  /// ```swift
  /// RunLoop.Scope.with {
  ///   RunLoop.Scope.deferred { print("the end of the scope") }
  ///   print("inside")
  /// }
  /// // prints inside
  /// // prints the end of the scope
  /// ```
  /// - Thread: Any; a scope belongs to the calling thread, which also releases its objects and runs its actions.
  public enum Scope {
    /// Runs `body` in a scope of its own, which ends when `body` returns or throws.
    ///
    /// - Thread: Any; the scope belongs to the calling thread.
    @available(*, noasync, message: "a scope is a thread's: do not use it in a task or a main with a top-level await")
    public static func with<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
      let scopes = ThreadRecord.current.scopes
      let height = scopes.height
      defer { scopes.drain(to: height) }
      return try body()
    }

    /// Runs `action` when the innermost scope of this thread ends.
    @available(*, noasync, message: "a scope is a thread's: do not use it in a task or a main with a top-level await")
    public static func deferred(_ action: @escaping () -> Void) {
      ThreadRecord.current.scopes.push(.action(action))
    }

    /// Releases `object` when the innermost scope of this thread ends.
    @available(*, noasync, message: "a scope is a thread's: do not use it in a task or a main with a top-level await")
    public static func autorelease(_ object: AnyObject) {
      ThreadRecord.current.scopes.push(.object(object))
    }
  }
}
