extension RunLoop {
  /// Scopes in the style of autorelease pools: the end of a scope releases the objects and runs the actions that were
  /// put into it, the last first [RLK-SCOPE-1].
  ///
  /// Every run opens a scope before its entry observers, and empties it after the before-waiting observers, at the end
  /// of a pass that polls, and after the exit observers; nested runs nest scopes [RLK-SCOPE-2, RLK-SCOPE-3]. A host's
  /// call that notifies observers opens one for them. What is put into no scope waits for the thread's end
  /// [RLK-SCOPE-4]. These are fixed steps of the pass, whatever the order of observers is.
  /// - Thread: Any; scopes are the calling thread's, and what is put into them ends there.
  public enum Scope {
    /// Runs `body` in a scope of its own, which ends when it returns or throws.
    ///
    /// - Thread: Any; the scope is the calling thread's.
    @available(*, noasync, message: "scopes belong to a thread: use them from synchronous code")
    public static func with<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
      let scopes = ThreadRecord.current.scopes
      let height = scopes.height
      defer { scopes.drain(to: height) }
      return try body()
    }

    /// Runs `action` when the innermost scope of this thread ends.
    @available(*, noasync, message: "scopes belong to a thread: use them from synchronous code")
    public static func deferred(_ action: @escaping () -> Void) {
      ThreadRecord.current.scopes.push(.action(action))
    }

    /// Releases `object` when the innermost scope of this thread ends.
    @available(*, noasync, message: "scopes belong to a thread: use them from synchronous code")
    public static func autorelease(_ object: AnyObject) {
      ThreadRecord.current.scopes.push(.object(object))
    }
  }
}
