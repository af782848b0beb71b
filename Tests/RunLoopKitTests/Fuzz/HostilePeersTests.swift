import Glibc
import XCTest

/// `Tests/HostilePeers`: peers that send any packets, against a server that sends on and answers with all that comes. Held: the
/// server lives, an honest client is served once and in order, and when the peers have gone nothing of theirs is left. Some rounds;
/// with `RLK_FUZZ_SECONDS`, rounds of that time and other seeds. A failure names its round's seed.
final class HostilePeersTests: XCTestCase {
  func test_RLK_PEER_29_aServerThatSendsOn_amongHostilePeers() throws {
    let seconds = getenv("RLK_FUZZ_SECONDS").map { String(cString: $0) }
    let words = seconds.map { ["--rounds", "1", "--seconds", $0, "--seed", "\(time(nil))000"] } ?? ["--rounds", "300"]
    let (status, output) = runProgram("hostile-peers", words)
    XCTAssertEqual(status, 0, output)
    XCTAssertTrue(output.contains("rounds, the last one is seed"), output)
    print(output, terminator: "")
  }
}
