import Glibc

/// The calling thread's name, as the kernel has it.
package func nameOfThread() -> String {
  let file = open("/proc/thread-self/comm", O_RDONLY | O_CLOEXEC)
  defer { close(file) }
  var name = [UInt8](repeating: 0, count: 16)
  let count = read(file, &name, name.count)
  return String(decoding: name.prefix(max(0, count - 1)), as: UTF8.self)  // without the line's end
}
