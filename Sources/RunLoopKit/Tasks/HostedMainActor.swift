/// The main actor's executor in a process whose main thread belongs to a host: no run loop runs its jobs.
package protocol HostedMainActor: AnyObject {
  /// True if jobs wait for the host to run them.
  var hasJobs: Bool { get }

  /// Until `endWatch`, the first job that comes causes a pass of the main loop.
  func beginWatch()
  func endWatch()
}
