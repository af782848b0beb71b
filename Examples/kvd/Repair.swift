import Glibc

/// `kvd repair`: makes a new log of all whole records that are in the log, in their order, and keeps the log beside it.
enum Repair {
  static func run(in directory: String) throws {
    let lock = try Daemon.takeDirectory(directory)
    defer { withExtendedLifetime(lock) {} }
    let path = directory + "/kvd.log"
    let log = try File(path, O_RDONLY)
    let size = try log.size()
    let (layout, start) = try layout(of: log)
    let new = try File(path + ".repair", O_RDWR | O_CREAT | O_TRUNC)
    var (writer, records) = (try LogWriter(new, LogHeader()), 0)
    var reader = RecordReader(log, layout, from: start, to: size, isRepair: true)
    var gaps: [Range<Int>] = []
    while reader.offset < size {
      while let found = try reader.next() {
        for (key, value) in found { _ = try writer.append(key, value) }
        records += found.count
      }
      guard reader.offset < size else { break }
      let from = reader.offset
      let goesOn = try reader.skip()
      gaps.append(from..<(goesOn ? reader.offset : size))
      if !goesOn { break }
    }
    if gaps.isEmpty, (try? Recovery.readHeader(of: log)) != nil {
      unlink(new.path)
      return Report.note("\(path) is whole: \(records) records, nothing to repair")
    }
    try writer.finish()
    try replace(path, with: new.path, in: directory)
    for gap in gaps { Report.note("left out: \(gap.count) bytes at offset \(gap.lowerBound)") }
    Report.note("\(records) records kept; where one was left out, its key has the value that it had before")
  }

  /// How its records lie in it, and where they begin.
  private static func layout(of log: File) throws -> (layout: RecordReader.Layout, start: Int) {
    do {
      let header = try LogHeader(try Recovery.beginning(of: log), isRepair: true)
      return (.batches(salt: header.salt), LogHeader.size)
    } catch LogHeader.Defect.firstFormat {
      return (.records(salt: nil), 8)
    } catch LogHeader.Defect.secondFormat(let salt) {
      return (.records(salt: salt), LogHeader.size)
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
