import Glibc

/// `kvd`: keys and values over TCP, kept in a file; one thread, one run loop. docs/guide/kvd.md tells what it shows.
@main
enum Kvd {
  static func main() {
    Report.claimStandardDescriptors()
    do {
      switch try Options(Array(CommandLine.arguments.dropFirst())) {
      case .help: try Report.say(Options.usage)
      case .serve(let options): try Daemon(options).run()
      case .compact(let order): try Snapshot.write(order)
      case .repair(let directory): try Repair.run(in: directory)
      }
    } catch let failure as Options.Mistake {
      Report.note("\(failure)\n\(Options.usage)")
      exit(2)
    } catch {
      Report.note("\(error)")
      exit(1)
    }
  }
}
