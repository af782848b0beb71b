#if Service
  internal import Synchronization

  /// The first error of a service.
  final class Failure: Sendable {
    private let error = Mutex<(any Error)?>(nil)

    var first: (any Error)? { error.withLock { $0 } }

    func come(_ error: any Error) {
      self.error.withLock { if $0 == nil { $0 = error } }
    }
  }
#endif
