import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// A process without descriptors: connections can be neither accepted nor refused.
final class ListenerPauseTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  /// A timer's descriptor is there: the listener tries again by itself, every 100 milliseconds until it can.
  func test_RLK_ERROR_14_aListenerWithoutDescriptorsRests_andTriesAgain() {
    check(hasTimer: true) { _ in }
  }

  /// There is none: the next connection makes it try again.
  func test_RLK_ERROR_14_withoutATimerTheNextConnectionIsHeard() {
    check(hasTimer: false) { precondition($0.connect() == 0) }
  }

  /// The kernel refuses to watch the listener as before: it is asked again, and no connection waits for the next one.
  func test_RLK_ERROR_14_aRefusedRegistrationIsTriedAgain() {
    check(hasTimer: false) { caller in
      let isOver = Box(false)
      CountingKernel.script.change = {
        isOver.update { over in
          defer { over = true }
          return over ? nil : -ENOMEM
        }
      }
      precondition(caller.connect() == 0)
    }
  }

  /// In a process of its own: the limit is its own, and no other thread closes a descriptor meanwhile.
  private func check(hasTimer: Bool, _ whenThereIsRoom: (Caller) -> Void) {
    inChild { check in
      let (loop, name) = (RunLoop.current, NameFolder.newName())
      let counter = EventCounter()
      try loop.add(PortSourceFactory.make(counter) {})  // the loop's own descriptors are there
      if hasTimer { try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in }) }
      let (first, second) = (Caller(name), Caller(name))
      // Folder, lock and listener, and no number that is kept for connections that are to be refused.
      let port = try withDescriptors(3) {
        let port = try Port(registeredAs: name) { _, _ in }
        try loop.add(port)
        check.equal(first.connect(), 0)
        let counts = try CountingKernel.count { _ = try loop.run(for: .milliseconds(hasTimer ? 350 : 20)) }
        check.that(counts.waits < (hasTimer ? 25 : 10), "\(counts.waits) waits")
        return port
      }
      check.equal(port.peerStatistics.connections, 0)
      whenThereIsRoom(second)
      try loop.serve { port.peerStatistics.connections > 0 }
      check.that(port.peerStatistics.connections > 0)
      // As before: each connection is taken, also of several that come at once.
      let rights = try (0..<3).map { _ in try Port.connect(to: name) }
      let all = rights.count + (hasTimer ? 1 : 2)
      try loop.serve { port.peerStatistics.connections >= all }
      check.equal(port.peerStatistics.connections, all)
      withExtendedLifetime((rights, first, second)) { port.invalidate() }
    }
  }
}

/// A client whose socket is made before it connects, where descriptors are short, or as another user.
final class Caller: Sendable {
  let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
  private let path: String

  init(_ name: String) { path = "\(NameFolder.path)/\(name)" }

  deinit { close(descriptor) }

  /// A child of this process connects, which is of another user. It lives until it is killed.
  func connect(as user: UInt32?) -> pid_t { test_connect_as(user ?? .max, descriptor, path) }

  func connect() -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix($0.count - 1)) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
