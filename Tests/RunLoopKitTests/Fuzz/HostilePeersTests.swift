import Glibc
import XCTest

/// `Tests/HostilePeers`: peers that send any packets, against a server that sends on and answers with all that comes. Held: the
/// server lives, an honest client is served once and in order, and when the peers have gone nothing of theirs is left. Some rounds;
/// with `RLK_FUZZ_SECONDS`, rounds of that time and other seeds. A failure names its round's seed.
final class HostilePeersTests: XCTestCase {
  func test_RLK_PEER_29_aServerThatSendsOn_amongHostilePeers() throws {
    let seconds = getenv("RLK_FUZZ_SECONDS").map { String(cString: $0) }
    let words = seconds.map { ["--rounds", "1", "--seconds", $0, "--seed", "\(time(nil))000"] } ?? ["--rounds", "300"]
    let (status, output) = run(words)
    XCTAssertEqual(status, 0, output)
    XCTAssertTrue(output.contains("rounds, the last one is seed"), output)
    print(output, terminator: "")
  }

  private func run(_ words: [String]) -> (status: Int32, output: String) {
    let pipe = Pipe()
    for end in [pipe.reading, pipe.writing] { _ = fcntl(end, F_SETFL, 0) }  // both wait
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, pipe.writing, 1)
    posix_spawn_file_actions_adddup2(&actions, pipe.writing, 2)
    let path = program("hostile-peers")
    var argv: [UnsafeMutablePointer<CChar>?] = ([path] + words).map { strdup($0) } + [nil]
    defer { argv.forEach { free($0) } }
    var process = pid_t()
    XCTAssertEqual(posix_spawn(&process, path, &actions, nil, &argv, environ), 0)
    close(pipe.writing)
    var output = ""
    while case let text = pipe.receive(), !text.isEmpty { output += text }
    close(pipe.reading)
    var status: Int32 = -1
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    return (status, output)
  }
}
