import Glibc
import RunLoopEvents
import RunLoopKit
import RunLoopTestSupport
import XCTest

import class RunLoopKit.RunLoop

/// Random watches of random files in several modes and loops, each beside a plain inotify instance of its own.
final class WatchStressTests: XCTestCase {
  typealias Watch = RunLoop.FileWatch
  typealias Folder = FileWatchTests.Folder

  /// A watch, and what a reader of its own instance reads.
  private final class Pair: @unchecked Sendable {
    let plain: Int32
    let watch: Watch
    var mode: RunLoop.Mode?
    private let endsItself: Bool
    private let seen: Box<[String]>
    private var read: [String] = []

    init?(_ path: String, _ events: Watch.Event.Kinds, endsItself: Bool) {
      plain = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
      let seen = Box<[String]>([])
      self.seen = seen
      self.endsItself = endsItself
      guard inotify_add_watch(plain, path, events.rawValue) >= 0,
        let watch = try? Watch(
          path: path, events: events,
          { watch, event in
            seen.update { $0.append("\(event) \(event.isDirectory)") }
            if endsItself { watch.invalidate() }
          })
      else {
        close(plain)
        return nil
      }
      self.watch = watch
    }

    deinit { close(plain) }

    /// Equal ones that follow each other are one: the time of reading decides which coalesce, whatever their cookies.
    private static func merged(_ texts: [String]) -> [String] {
      texts.enumerated().filter { $0.offset == 0 || texts[$0.offset - 1] != $0.element }.map(\.element)
    }

    private func readPlain() {
      var bytes = [UInt8](repeating: 0, count: 65_536)
      while case let count = Glibc.read(plain, &bytes, bytes.count), count > 0 {
        var next = 0
        while next < count {
          let header = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: next, as: inotify_event.self) }
          let name = bytes[(next + 16)..<(next + 16 + Int(header.len))].prefix { $0 != 0 }
          let text = Self.kinds[header.mask & 0xFFFF] ?? "?"
          let words = name.isEmpty ? text : "\(text) \(String(decoding: name, as: UTF8.self))"
          read.append("\(words) \(header.mask & 0x4000_0000 != 0)")
          next += 16 + Int(header.len)
        }
      }
    }

    /// All of it, or, of one that was ended by the program, the beginning.
    func check(_ context: String, isWhole: Bool) {
      readPlain()
      let (plain, shared) = (Self.merged(read), Self.merged(seen.value))
      let isWhole = isWhole && !endsItself
      let expected = isWhole ? plain : Array(plain.prefix(shared.count))
      if expected != shared { XCTFail("\(context): \(watch)\n  plain:  \(plain)\n  shared: \(shared)") }
      if isWhole, read.last?.hasPrefix("ended") == true { XCTAssertFalse(watch.isValid, context) }
    }

    private static let kinds: [UInt32: String] = [
      0x1: "accessed", 0x2: "modified", 0x4: "attributes", 0x8: "closedAfterWriting", 0x10: "closedAfterReading",
      0x20: "opened", 0x40: "movedAway", 0x80: "movedHere", 0x100: "created", 0x200: "deleted", 0x400: "targetDeleted",
      0x800: "targetMoved", 0x8000: "ended",
    ]
  }

  private struct Chance: RandomNumberGenerator {
    var mix: SplitMix
    mutating func next() -> UInt64 { mix.next() }
  }

  private static let modes: [RunLoop.Mode] = ["a", "b", "c"]
  private static let names = ["x", "y", "x/p", "x/q", "y/p", "y/q", "z"]

  private func change(_ root: String, _ chance: inout Chance) {
    func some() -> String { "\(root)/\(Self.names.randomElement(using: &chance)!)" }
    switch Int.random(in: 0..<14, using: &chance) {
    case 0: mkdir(some(), 0o700)
    case 1: rmdir(some())
    case 2, 3: rename(some(), some())
    case 4: unlink(some())
    case 5: link(some(), some())
    case 6: symlink(some(), some())
    case 7: chmod(some(), Bool.random(using: &chance) ? 0o700 : 0o750)
    case 8: close(open(some(), O_RDONLY | O_CLOEXEC))
    case 9: truncate(some(), 0)
    default:
      let file = open(some(), O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
      for _ in 0..<Int.random(in: 0..<3, using: &chance) { write(file, "x", 1) }
      close(file)
    }
  }

  private func makePair(_ root: String, _ chance: inout Chance) -> Pair? {
    let bits = UInt32.random(in: 1...0xFFF, using: &chance) & UInt32.random(in: 1...0xFFF, using: &chance)
    let name = Bool.random(using: &chance) ? "" : "/\(Self.names.randomElement(using: &chance)!)"
    let endsItself = Int.random(in: 0..<20, using: &chance) == 0
    return Pair(root + name, Watch.Event.Kinds(rawValue: bits | 0x100), endsItself: endsItself)
  }

  private func run(seed: UInt64, steps: Int) throws {
    var chance = Chance(mix: SplitMix(seed))
    let (folder, loop) = (Folder(), RunLoop.current)
    var (pairs, ended): ([Pair], [Pair]) = ([], [])
    for _ in 0..<steps {
      switch Int.random(in: 0..<20, using: &chance) {
      case 0...11: change(folder.path, &chance)
      case 12, 13:
        guard pairs.count < 40, let pair = makePair(folder.path, &chance) else { continue }
        pairs.append(pair)
        pair.mode = Self.modes.randomElement(using: &chance)!
        try loop.add(pair.watch, to: pair.mode!)
      case 14:
        guard let pair = pairs.randomElement(using: &chance), let mode = pair.mode else { continue }
        loop.remove(pair.watch, from: mode)
        pair.mode = Bool.random(using: &chance) ? nil : Self.modes.randomElement(using: &chance)!
        if let mode = pair.mode { try loop.add(pair.watch, to: mode) }
      case 15:
        guard let index = pairs.indices.randomElement(using: &chance) else { continue }
        pairs[index].watch.invalidate()
        ended.append(pairs.remove(at: index))
      default:
        let mode = Self.modes.randomElement(using: &chance)!
        for _ in 0..<Int.random(in: 1..<20, using: &chance) { try loop.run(in: mode, for: .zero) }
      }
    }
    for pair in pairs where pair.mode == nil { try loop.add(pair.watch, to: "a") }
    for mode in Self.modes {
      while try loop.run(in: mode, for: .zero, returnAfterSourceHandled: true) == .handledSource {}
    }
    for pair in pairs { pair.check("seed \(seed)", isWhole: true) }
    for pair in ended { pair.check("seed \(seed)", isWhole: false) }
    for pair in pairs { pair.watch.invalidate() }
  }

  func test_RLK_WATCH_21_randomWatchesGetWhatAReaderOfTheirOwnGets() {
    func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
    // More of them, or others, in a long run.
    let (first, count) = (number("RLK_WATCH_SEED") ?? 1, number("RLK_WATCH_SEEDS") ?? 12)
    for seed in first..<first + count { onThread { try self.run(seed: seed, steps: 600) } }
    XCTAssertEqual(SharedWatchTests.instances, [])
  }

  /// Made and ended by one thread, served by two, which take it from each other, while a third changes the files.
  func test_RLK_WATCH_21_watchesThatMoveBetweenThreads() {
    for seed in UInt64(1)...(isSlow ? 1 : 4) {
      let (folder, isOver, ready) = (Folder(), Box(false), Gate())
      let loops = Box<[RunLoop]>([])
      let threads = (0..<2).map { _ in
        TestThread {
          loops.update { $0.append(.current) }
          _ = try? RunLoop.current.add(RunLoop.Timer.never())
          ready.open()
          _ = try? RunLoop.current.run()
        }
      }
      for _ in threads { ready.wait() }
      let writer = TestThread {
        var chance = Chance(mix: SplitMix(seed &+ 1000))
        for _ in 0..<2000 where !isOver.value { self.change(folder.path, &chance) }
      }
      var chance = Chance(mix: SplitMix(seed))
      var ended: [Watch] = []
      for _ in 0..<300 {
        let name = Bool.random(using: &chance) ? "" : "/\(Self.names.randomElement(using: &chance)!)"
        guard let watch = try? Watch(path: folder.path + name, events: .all, { _, _ in }) else { continue }
        for _ in 0..<Int.random(in: 1...4, using: &chance) {
          let loop = loops.value.randomElement(using: &chance)!
          if Bool.random(using: &chance) { _ = try? loop.add(watch) } else { loop.remove(watch) }
        }
        if Bool.random(using: &chance) { ended.append(watch) }
        if ended.count > 20 { ended.remove(at: 0).invalidate() }
      }
      isOver.value = true
      writer.join()
      // What is left is served to its end: a file that is made now is reported to each that watches the folder.
      let (count, expected) = (Box(0), 5)
      var last: [Watch] = []
      for index in 0..<expected {
        let watch = try? Watch(path: folder.path, events: .created) { _, event in
          if event.name == "last" { count.update { $0 += 1 } }
        }
        guard let watch else { return XCTFail("seed \(seed)") }
        _ = try? loops.value[index % 2].add(watch)
        last.append(watch)
      }
      folder.write("last")
      let end = RunLoop.Instant.now.advanced(by: .seconds(30))
      while count.value < expected, RunLoop.Instant.now < end { sched_yield() }
      XCTAssertEqual(count.value, expected, "seed \(seed)")
      for watch in ended + last { watch.invalidate() }
      for loop in loops.value { loop.stop() }
      for thread in threads { thread.join() }
    }
    XCTAssertEqual(SharedWatchTests.instances, [])
  }
}
