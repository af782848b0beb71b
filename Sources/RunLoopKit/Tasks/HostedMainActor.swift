/// The main actor's executor in a process whose main thread belongs to a host: no run loop runs its jobs.
package protocol HostedMainActor: AnyObject {
  /// True if jobs wait for the host to run them.
  var hasJobs: Bool { get }

  /// Has the main loop make a pass when the first job comes, until `endWatch` was called as often.
  func beginWatch()
  func endWatch()
}
