/// Of the kernel.
enum Limits {
  /// Descriptors in one packet (SCM_MAX_FD).
  static let maximumDescriptors = 253
}
