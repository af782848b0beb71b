import Glibc
import RunLoopKit

// All are bound before the first loop runs: the kernel spreads the connections over the listeners that exist.
let first = try Listener(port: 0)
let listeners = try [first] + (1..<4).map { _ in try Listener(port: first.port) }

let threads = listeners.enumerated().map { number, listener in
  RunLoop.Thread(name: "server \(number)") { loop in
    try loop.add(
      RunLoop.FileDescriptorSource(
        fileDescriptor: listener.descriptor, interest: .readable, ownership: .closesWhenInvalidated
      ) { source, _ in
        while let connection = Listener.accept(source.fileDescriptor) {
          var answer = UInt8(number)
          send(connection, &answer, 1, Int32(MSG_NOSIGNAL))
          close(connection)
        }
      })
  }
}
for thread in threads { try thread.start() }
print("\(threads.count) loops listen at one port")

/// Connects, and returns the number of the loop that has answered.
func ask() -> UInt8? {
  let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  defer { close(connection) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = first.port.bigEndian
  address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
  let status = withUnsafePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
  var answer: UInt8 = 0
  return status == 0 && recv(connection, &answer, 1, 0) == 1 ? answer : nil
}

let answers = (0..<100).compactMap { _ in ask() }
print("\(answers.count) of 100 connections are answered")
print("by more than one loop: \(Set(answers).count > 1)")

for thread in threads { thread.stop() }
for thread in threads { try thread.join() }
