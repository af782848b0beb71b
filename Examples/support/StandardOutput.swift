@preconcurrency import Glibc  // stdout and stderr are variables there

/// The output of an example: a program whose lines were lost does not answer 0.
public enum StandardOutput {
  /// To be called first in the program. When the process exits with output that could not be written, it says so on standard
  /// error and exits with 1. A standard descriptor that was closed by whoever started the process is replaced by one that
  /// refuses to be written: else the first file that is opened would get its number, and what is printed.
  public static func watch() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_RDONLY)  // the lowest number that is free
    }
    atexit {
      guard fflush(stdout) != 0 || ferror(stdout) != 0 else { return }
      fputs("standard output could not be written\n", stderr)
      _exit(1)
    }
  }
}
