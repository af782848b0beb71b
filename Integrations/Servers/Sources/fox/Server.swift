import FlyingFox
import FlyingSocks
import Foundation

/// FlyingFox's server, which says one thing.
struct Server {
  static let body = Array("the quick brown fox".utf8)

  private let server: HTTPServer
  private let task: Task<Void, any Error>
  let port: UInt16

  struct NoPort: Error {}

  init(pool: some AsyncSocketPool) async throws {
    let server = HTTPServer(
      address: try sockaddr_in.inet(ip4: "127.0.0.1", port: 0), pool: pool, logger: .disabled)
    await server.appendRoute("/") { _ in HTTPResponse(statusCode: .ok, body: Data(Server.body)) }
    self.server = server
    task = Task { try await server.run() }
    try await server.waitUntilListening()
    guard case .ip4(_, let port) = await server.listeningAddress else { throw NoPort() }
    self.port = port
  }

  func stop() async {
    await server.stop()
    _ = await task.result
  }
}
