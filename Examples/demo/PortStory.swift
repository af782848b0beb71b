import Glibc
import RunLoopKit
import Synchronization

extension Demo {
  /// The classic story of two threads and a port: a message with an id, what it carries, and where the answer goes.
  struct PortStory: Story {
    let name = "ports"
    let title = "a letter, and its answer"

    private let requests = 5000

    func tell(on stage: Stage) throws -> Outcome {
      stage.say(
        "A port is a mailbox in a loop: it keeps the loop from ending, and a message in it wakes the loop by itself. "
          + "Whoever has the right to send can send from any thread, and pass the right on, also inside a message.")
      let clerk = Clerk()
      let office = try Office(clerk)
      var outcome = Outcome()
      try letter(to: office, clerk, on: stage, &outcome)
      let took = try questions(to: office, on: stage, &outcome)
      try crowd(on: stage, &outcome)
      try end(of: office, clerk, on: stage, &outcome)
      outcome.figure = "\(grouped(requests)) requests, \(described(took / requests)) each, there and back"
      return outcome
    }

    // MARK: Message 150

    private func letter(
      to office: Office, _ clerk: Clerk, on stage: Stage, _ outcome: inout Outcome
    ) throws {
      let loop = RunLoop.current
      let answers = Mutex<[UInt32]>([])
      let home = RunLoop.Port { port, answer in
        answers.withLock { $0.append(answer.id) }
        port.invalidate()
      }
      try loop.add(home, to: .answers)
      Demo.wait { office.loop.isWaiting }
      stage.note("worker: the loop has one port and nothing else, and is asleep")
      let descriptor = try RunLoop.Message.Descriptor(duplicating: STDOUT_FILENO)
      let message = RunLoop.Message(
        id: 150, [.bytes("how are you?"), .descriptor(descriptor)], reply: home.sendRight)
      stage.note("here: message 150, with words, a descriptor, and a port for the answer")
      try office.right.send(message)
      let result = try loop.run(in: .answers, for: patience)

      let received = clerk.received.withLock { $0 }
      outcome.expect(
        "it arrived as it was sent", received.first == Clerk.Receipt(id: 150, text: "how are you?", descriptors: 1),
        seen: received.first.map { "\($0.id), \"\($0.text)\", \($0.descriptors) descriptor" } ?? "nothing")
      outcome.expect(
        "the delegate was called on the worker's thread", received.first?.thread == office.thread,
        seen: received.first?.thread == office.thread ? "yes" : "no")
      outcome.expect("the descriptor has moved: nothing is left here", -1, seen: descriptor.fileDescriptor)
      outcome.expect("the answer came to the port that the letter named", [150], seen: answers.withLock { $0 })
      outcome.expect("which was all that the mode had to wait for", .finished, seen: result)
    }

    // MARK: Requests

    /// The request makes the answer's port by itself, and runs this loop in a mode of its own until it comes.
    private func questions(
      to office: Office, on stage: Stage, _ outcome: inout Outcome
    ) throws -> Duration {
      stage.note("\(grouped(requests)) requests, one after the other")
      var matching = 0
      let start = RunLoop.Instant.now
      for number in 0..<UInt32(requests) {
        let answer = try office.right.request(
          RunLoop.Message(id: number), timeout: patience, in: .answers)
        if answer.id == number { matching += 1 }
      }
      let took = start.duration(to: .now)
      outcome.expect("each request got its own answer", requests, seen: matching, as: grouped)
      return took
    }

    // MARK: What can go wrong

    /// A port that nobody serves.
    private func crowd(on stage: Stage, _ outcome: inout Outcome) throws {
      let port = RunLoop.Port(queueLimit: 2) { _, _ in }
      let right = port.sendRight
      try right.trySend(RunLoop.Message())
      try right.trySend(RunLoop.Message())
      outcome.expect(
        "a port for two messages refuses the third", .portFull,
        seen: Demo.error(of: { try right.trySend(RunLoop.Message()) }))
      outcome.expect(
        "who waits for room can set a timeout", .timedOut,
        seen: Demo.error(of: { try right.send(RunLoop.Message(), timeout: .milliseconds(5)) }))
    }

    private func end(
      of office: Office, _ clerk: Clerk, on stage: Stage, _ outcome: inout Outcome
    ) throws {
      let told = Counter()
      office.right.onInvalidation { told.increment() }
      stage.note("here: a last question; the worker invalidates its port instead of answering")
      clerk.isLeaving.store(true, ordering: .releasing)
      outcome.expect(
        "the request throws: no answer will come", .noReply,
        seen: Demo.error(of: { _ = try office.right.request(RunLoop.Message(id: 151), timeout: patience, in: .answers) }
        )
      )
      office.join()
      outcome.expect("without its port the worker's loop had ended", .finished, seen: office.result)
      outcome.expect("the owner of the send right learns of it, once", 1, seen: told.value)
      outcome.expect(
        "and cannot send any more", .portInvalid, seen: Demo.error(of: { try office.right.send(RunLoop.Message()) }))
    }
  }

  /// What a call throws, nil if nothing.
  fileprivate static func error(of body: () throws -> Void) -> RunLoopError? {
    do {
      try body()
      return nil
    } catch {
      return error as? RunLoopError
    }
  }

  /// Answers every message with one of the same id.
  private final class Clerk: RunLoop.PortDelegate, Sendable {
    struct Receipt: Equatable, Sendable {
      let id: UInt32
      let text: String
      let descriptors: Int
      var thread = pthread_self()

      static func == (a: Self, b: Self) -> Bool { (a.id, a.text, a.descriptors) == (b.id, b.text, b.descriptors) }
    }

    let received = Mutex<[Receipt]>([])
    let isLeaving = Atomic<Bool>(false)

    func port(_ port: RunLoop.Port, didReceive message: RunLoop.Message) {
      let text = message.bytes.map { String(decoding: $0, as: UTF8.self) } ?? ""
      received.withLock {
        $0.append(Receipt(id: message.id, text: text, descriptors: message.descriptors.count))
      }
      if isLeaving.load(ordering: .acquiring) { return port.invalidate() }
      try? message.reply?.send(RunLoop.Message(id: message.id))
    }
  }

  /// A thread whose loop has nothing but a port.
  private final class Office: Sendable {
    let right: RunLoop.Port.SendRight
    let loop: RunLoop
    let thread: pthread_t
    private let worker: Worker
    private let ended = Handover<RunLoop.RunResult?>()

    init(_ clerk: Clerk) throws {
      let port = RunLoop.Port(delegate: clerk)
      right = port.sendRight
      let started = Handover<(loop: RunLoop, thread: pthread_t)>()
      let ended = self.ended
      worker = try Worker {
        let loop = RunLoop.current
        started.give((loop, pthread_self()))
        do {
          try loop.add(port)
          ended.give(try loop.run())
        } catch {
          endIfShort(error)
          ended.give(nil)
        }
      }
      (loop, thread) = started.take()
    }

    var result: RunLoop.RunResult? { ended.take() }
    func join() { worker.join() }
  }
}

extension RunLoop.Mode {
  fileprivate static let answers = RunLoop.Mode(rawValue: "demo.answers")
}
