// The only file that names a C library. All other Swift files of the package import this module.
#if canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Musl)
  @_exported public import Musl
#elseif canImport(Android)
  @_exported public import Android
#else
  #error("RunLoopKit needs Linux: epoll, timerfd and eventfd")
#endif
