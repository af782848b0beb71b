internal import Glibc
internal import RunLoopKit

/// The attached hosts of the calling thread, all of them of its one loop. Each thread has a list of its own, so that there
/// is no lock, which another thread might hold when the program forks.
enum Hosts {
  private final class List {
    var hosts: [NIOHost] = []
  }

  /// Nil: the process has as many keys as it may.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return pthread_key_create(&key) { Unmanaged<List>.fromOpaque($0!).release() } == 0 ? key : nil
  }()

  /// Makes the list of the calling thread.
  static func prepareList() throws(RunLoopError) {
    guard let key else { throw .system(EAGAIN, call: "pthread_key_create") }
    guard pthread_getspecific(key) == nil else { return }
    let list = Unmanaged.passRetained(List())
    let status = pthread_setspecific(key, list.toOpaque())
    guard status != 0 else { return }
    list.release()
    throw .system(status, call: "pthread_setspecific")
  }

  private static var list: List? {
    key.flatMap { pthread_getspecific($0) }.map { Unmanaged<List>.fromOpaque($0).takeUnretainedValue() }
  }

  static var all: [NIOHost] { list?.hosts ?? [] }

  static func add(_ host: NIOHost) { list?.hosts.append(host) }

  static func remove(_ host: NIOHost) { list?.hosts.removeAll { $0 === host } }
}
