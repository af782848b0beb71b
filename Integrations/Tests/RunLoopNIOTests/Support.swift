import Foundation
import Glibc
import HostTestSupport
import NIOCore
import NIOPosix
import RunLoopKit
import RunLoopNIO
import XCTest

import class RunLoopKit.RunLoop

/// Turns the calling thread into an event loop, until somebody ends that. Nothing but what the test does wakes it.
func turn(_ body: @escaping (any EventLoop) throws -> Void) throws {
  var failure: (any Error)?
  MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { eventLoop in
    do { try body(eventLoop) } catch {
      failure = error
      eventLoop.end()
    }
  }
  if let failure { throw failure }
}

/// A host on a thread of its own: as long as it is there, so is the watchers' thread.
final class OtherHost {
  private let eventLoop = Box<(any EventLoop)?>(nil)
  private let thread: OtherThread

  init() {
    thread = OtherThread { [eventLoop] in
      try? turn {
        try NIOHost(of: .current, on: $0)
        eventLoop.value = $0
      }
    }
    while eventLoop.value == nil { sched_yield() }
  }

  func end() {
    eventLoop.value?.end()
    thread.join()
  }
}

extension EventLoop {
  /// Closes all channels.
  func end() { shutdownGracefully { _ in } }
}

/// A pipe of SwiftNIO's own, which is always readable: work for each wait of the event loop.
final class Load: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let writing: Int32
  /// False: no more of it.
  private let body: () -> Bool
  private let atEnd: () -> Void

  private init(_ writing: Int32, _ body: @escaping () -> Bool, _ atEnd: @escaping () -> Void) {
    (self.writing, self.body, self.atEnd) = (writing, body, atEnd)
  }

  static func begin(
    on eventLoop: any EventLoop, _ body: @escaping () -> Bool, atEnd: @escaping () -> Void = {}
  ) {
    var ends: [Int32] = [0, 0]
    precondition(pipe(&ends) == 0)
    let load = NIOLoopBound(Load(ends[1], body, atEnd), eventLoop: eventLoop)
    NIOPipeBootstrap(group: eventLoop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(load.value) }
      }
      .takingOwnershipOfDescriptor(input: ends[0])
      .whenFailure { XCTFail("\($0)") }
    load.value.feed()
  }

  private func feed() { write(writing, "x", 1) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if body() { feed() } else if context.channel.isActive { context.close(promise: nil) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    close(writing)
    atEnd()
  }
}

/// Ticks of an event loop.
final class Ticks: NIOEventLoopMetricsDelegate {
  private let count = Box(0)

  var value: Int { count.value }

  func processedTick(info: NIOEventLoopTickInfo) { count.update { $0 += 1 } }
}

func whatIsToldOnStandardError(_ body: () throws -> Void) throws -> String {
  let (pipe, saved) = (Pipe(), dup(2))
  dup2(pipe.fileHandleForWriting.fileDescriptor, 2)
  let result = Result { try body() }
  dup2(saved, 2)
  close(saved)
  try pipe.fileHandleForWriting.close()
  try result.get()
  return String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
}

func openDescriptors() -> Int {
  (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1
}
