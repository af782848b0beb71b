/// Jobs that wait: those of a higher priority first, those of one priority in the order of enqueueing, or as a test
/// chooses. In the steady state the queue allocates nothing.
package struct JobQueue: ~Copyable {
  /// One row for each priority, the highest first. A program uses two or three.
  private var rows: [PriorityRow] = []
  package private(set) var count = 0

  package init() {}

  package var isEmpty: Bool { count == 0 }

  package mutating func append(_ job: PendingJob) {
    row(of: UInt16(job.job.priority.rawValue)).jobs.append(job)
    count += 1
  }

  package mutating func takeFirst() -> PendingJob? {
    guard count > 0 else { return nil }
    count -= 1
    for row in rows {
      if let job = row.jobs.takeFirst() { return job }
    }
    return nil
  }

  /// Removes a job of the highest priority, which the test's scheduler chooses.
  @inline(never)
  mutating func takeOne(chosenBy turns: any TurnTaking) -> PendingJob? {
    guard let row = rows.first(where: { $0.jobs.count > 0 }) else { return nil }
    let index = turns.choose(among: row.jobs.count)
    if index > 0 { (row.jobs[0], row.jobs[index]) = (row.jobs[index], row.jobs[0]) }
    return takeFirst()
  }

  /// Jobs that wait at this call come before all later ones, whatever their priorities.
  mutating func close() { for row in rows { row.close() } }

  /// How many of the jobs that waited at `close` still wait.
  var closedCount: Int { rows.reduce(0) { $0 + ($1.isClosed ? $1.jobs.count : 0) } }

  /// Frees the memory that a burst of jobs needed.
  package mutating func trim() { if count == 0 { for row in rows { row.jobs.trim() } } }

  private mutating func row(of priority: UInt16) -> PriorityRow {
    for row in rows where row.priority == priority { return row }
    return insertRow(of: priority)
  }

  @inline(never)
  private mutating func insertRow(of priority: UInt16) -> PriorityRow {
    let made = PriorityRow(priority)
    rows.insert(made, at: rows.firstIndex { $0.priority < priority } ?? rows.count)
    return made
  }
}

private final class PriorityRow {
  /// The priority of the row's jobs. In a closed row it is higher than that of any job, so the row gets no more.
  private(set) var priority: UInt16
  var jobs = Row<PendingJob>()

  private static let closed: UInt16 = 0x100

  init(_ priority: UInt16) { self.priority = priority }

  var isClosed: Bool { priority & Self.closed != 0 }

  func close() { priority |= Self.closed }
}
