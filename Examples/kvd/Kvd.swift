import Glibc

/// `kvd`: keys and values over TCP, kept in a file; one thread, one run loop. docs/guide/kvd.md tells what it shows.
@main
enum Kvd {
  static func main() {
    do {
      switch try Options(Array(CommandLine.arguments.dropFirst())) {
      case .help: print(Options.usage)
      case .serve(let options): try Daemon(options).run()
      case .compact(let order): try Snapshot.write(order)
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
