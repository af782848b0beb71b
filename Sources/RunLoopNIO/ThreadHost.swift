#if NIO
  internal import RunLoopKit
  internal import RunLoopLibc

  /// The attached host of the calling thread's loop. It is a thread-specific value and needs no lock. A lock could be
  /// held by another thread when the program forks, and would then stay locked in the child.
  enum ThreadHost {
    private final class Place {
      var host: NIOHost?
    }

    /// Nil if the process has no key left.
    private static let key: pthread_key_t? = {
      var key = pthread_key_t()
      return pthread_key_create(&key) { Unmanaged<Place>.fromOpaque($0!).release() } == 0 ? key : nil
    }()

    /// Makes the calling thread's place for a host.
    static func prepare() throws(RunLoopError) {
      guard let key else { throw .system(EAGAIN, call: "pthread_key_create") }
      guard pthread_getspecific(key) == nil else { return }
      let place = Unmanaged.passRetained(Place())
      let status = pthread_setspecific(key, place.toOpaque())
      guard status != 0 else { return }
      place.release()
      throw .system(status, call: "pthread_setspecific")
    }

    private static var place: Place? {
      key.flatMap { pthread_getspecific($0) }.map { Unmanaged<Place>.fromOpaque($0).takeUnretainedValue() }
    }

    static var current: NIOHost? {
      get { place?.host }
      set { place?.host = newValue }
    }
  }
#endif
