import RunLoopKit

private struct Failure: Error {}
private let story = Story()
@MainActor private func finished(_ number: Int, _ result: Result<Int, any Error>) {
  story.tell("\(number) \((try? result.get()) ?? -1)")
}

func threadsPool() throws {
  let jobs: [@Sendable () throws -> Int] = [{ 10 }, { throw Failure() }, { 12 }, { 13 }, { 14 }]
  // SAMPLE: threads-pool
  require(try RunLoop.main.run(until: story.all.count == jobs.count, timeout: .seconds(20)) == .met)
  require(story.all.sorted() == ["0 10", "1 -1", "2 12", "3 13", "4 14"])
}
