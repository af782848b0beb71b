/// The main actor's executor in a process whose main thread belongs to a host: no run loop runs its jobs.
package protocol HostedMainActor: AnyObject {
  /// Jobs wait for the host.
  var hasJobs: Bool { get }

  /// From now on the main loop makes a pass when the first job has come. Watches are counted.
  func beginWatch()
  func endWatch()
}
