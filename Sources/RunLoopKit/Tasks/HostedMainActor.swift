/// The main actor's executor in a process whose main thread belongs to a host. The host runs the main actor's jobs, and
/// no run loop does.
package protocol HostedMainActor: AnyObject {
  /// True if jobs wait for the host to run them.
  var hasJobs: Bool { get }

  /// From here to `endWatch`, a job that comes while no other waits causes a pass of the main loop.
  func beginWatch()
  func endWatch()
}
