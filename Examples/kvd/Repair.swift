import Glibc

/// `kvd repair`: makes a new log of all whole records that are in the log, in their order, and keeps the log beside it.
enum Repair {
  static func run(in directory: String) throws {
    let lock = try Daemon.takeDirectory(directory)
    defer { withExtendedLifetime(lock) {} }
    let path = directory + "/kvd.log"
    let log = try File(path, O_RDONLY)
    let size = try log.size()
    let (salt, start) = try header(of: log)
    let new = try File(path + ".repair", O_RDWR | O_CREAT | O_TRUNC)
    let header = LogHeader()
    var (end, chunk, records) = (0, header.bytes, 0)
    var reader = RecordReader(log, salt: salt, from: start, to: size)
    var gaps: [Range<Int>] = []
    while reader.offset < size {
      while let (key, value) = try reader.next() {
        Record.append(key, value, salt: header.salt, to: &chunk)
        records += 1
        guard chunk.count >= 1 << 20 else { continue }
        try new.write(chunk, at: end)
        end += chunk.count
        chunk.removeAll(keepingCapacity: true)
      }
      guard reader.offset < size else { break }
      let from = reader.offset
      let goesOn = try reader.skipToRecord()
      gaps.append(from..<(goesOn ? reader.offset : size))
      if !goesOn { break }
    }
    if gaps.isEmpty, (try? Recovery.readHeader(of: log)) != nil {
      unlink(new.path)
      return Report.note("\(path) is whole: \(records) records, nothing to repair")
    }
    try new.write(chunk, at: end)
    try new.synchronise()
    try replace(path, with: new.path, in: directory)
    for gap in gaps { Report.note("left out: \(gap.count) bytes at offset \(gap.lowerBound)") }
    Report.note("\(records) records kept; where one was left out, its key has the value that it had before")
  }

  /// The random number of its records, and where they begin.
  private static func header(of log: File) throws -> (salt: UInt64?, start: Int) {
    do {
      return (try LogHeader(try Recovery.beginning(of: log), isRepair: true).salt, LogHeader.size)
    } catch LogHeader.Defect.firstFormat {
      return (nil, 8)
    } catch is LogHeader.Defect {
      throw Failure("\(log.path) is no log of kvd, or nothing of its header is left: it cannot be repaired")
    }
  }

  /// At every moment `kvd.log` is one of the two.
  private static func replace(_ path: String, with new: String, in directory: String) throws {
    let kept = "kvd.log.damaged-\(Recovery.wallClock())"
    guard link(path, directory + "/" + kept) == 0 else { throw Failure.system("link to \(kept)") }
    try File.synchroniseDirectory(directory)
    try File.rename(new, to: path)
    try File.synchroniseDirectory(directory)
    Report.note("the log as it was is kept in \(kept)")
  }
}
