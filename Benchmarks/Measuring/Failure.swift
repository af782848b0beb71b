/// What is printed, and ends the program.
package struct Failure: Error, CustomStringConvertible {
  package let description: String
  package let status: Int32

  /// The exit status of a process that may not count system calls.
  package static let cannotCount: Int32 = 3

  package init(_ description: String, status: Int32 = 2) {
    self.description = description
    self.status = status
  }
}
