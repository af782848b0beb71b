/// Tells when it goes.
final class Token: Sendable {
  private let whenGone: @Sendable () -> Void

  init(_ whenGone: @escaping @Sendable () -> Void) { self.whenGone = whenGone }
  deinit { whenGone() }
}
