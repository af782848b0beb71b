import CFailingLibc
import Glibc

/// The errors with which calls are made to fail: those of their manual pages, but for what accuses arguments that are constants.
enum Errnos {
  private static let numbers: [String: [Int32]] = [
    "accept4": [EMFILE, ENFILE, ENOMEM, ENOBUFS, ECONNABORTED, EINTR],
    "bind": [EACCES, EADDRINUSE, ENOENT, ENOSPC, EROFS, ENOMEM],
    "connect": [EACCES, EAGAIN, ECONNREFUSED, EINTR, ENOENT, EPERM, EPROTOTYPE],
    "epoll_create1": [EMFILE, ENFILE, ENOMEM],
    "epoll_ctl": [EBADF, ELOOP, ENOENT, ENOMEM, ENOSPC, EPERM],
    "epoll_wait": [EBADF, EINTR, EINVAL, ENOMEM],
    "eventfd": [EMFILE, ENFILE, ENODEV, ENOMEM],
    "fchmod": [EPERM, EROFS],
    "fchmodat": [EPERM, EROFS],
    "fcntl": [EMFILE, ENOLCK, EPERM],
    "fstat": [EACCES, ENOMEM, EOVERFLOW],
    "fstatat": [EACCES, ENOENT, ENOMEM],
    "ftruncate": [EFBIG, EIO, ENOSPC],
    "getsockopt": [ENOBUFS, EPERM],
    "inotify_add_watch": [EACCES, ENOENT, ENOMEM, ENOSPC, ENOTDIR],
    "inotify_init1": [EMFILE, ENFILE, ENOMEM],
    "ioctl": [ENOTTY],
    "kill": [EPERM, ESRCH],
    "listen": [EADDRINUSE, EPERM],
    "lstat": [EACCES, ENOENT],
    "malloc": [ENOMEM],
    "memfd_create": [EMFILE, ENFILE, ENOMEM],
    "mkdir": [EACCES, EDQUOT, ENOENT, ENOSPC, ENOTDIR, EPERM, EROFS],
    "mmap": [EAGAIN, ENODEV, ENOMEM, EPERM],
    "open": [EACCES, ELOOP, EMFILE, ENFILE, ENOENT, ENOMEM, ENOTDIR, EPERM],
    "openat": [EACCES, EISDIR, ELOOP, EMFILE, ENFILE, ENOSPC, EROFS],
    "pidfd_open": [EINVAL, EMFILE, ENFILE, ENODEV, ENOMEM, ESRCH],
    "pidfd_send_signal": [EINVAL, EPERM, ESRCH],
    "poll": [EINTR, ENOMEM],
    "posix_spawn_file_actions_addchdir_np": [ENOMEM],
    "posix_spawn_file_actions_addclose": [EBADF, ENOMEM],
    "posix_spawn_file_actions_adddup2": [EBADF, ENOMEM],
    "posix_spawn_file_actions_addopen": [EBADF, ENOMEM],
    "posix_spawn_file_actions_init": [ENOMEM],
    "posix_spawnattr_init": [ENOMEM],
    "posix_spawnp": [E2BIG, EACCES, EAGAIN, EMFILE, ENFILE, ENOENT, ENOEXEC, ENOMEM, EPERM],
    "ppoll": [EINTR, ENOMEM],
    "pthread_attr_setstacksize": [EINVAL],
    "pthread_create": [EAGAIN, EINVAL, EPERM],
    "read": [EINTR, EIO],
    "recvmsg": [ECONNRESET, EINTR, ENOMEM],
    "renameat": [EACCES, ENOSPC, EROFS],
    "sendmsg": [EAGAIN, ECONNRESET, EINTR, EMSGSIZE, ENOBUFS, ENOMEM, EPERM, EPIPE, ETOOMANYREFS],
    "setsockopt": [ENOMEM, EPERM],
    "signalfd": [EMFILE, ENFILE, ENODEV, ENOMEM],
    "socket": [EACCES, EMFILE, ENFILE, ENOBUFS, ENOMEM],
    "socketpair": [EMFILE, ENFILE, ENOBUFS, ENOMEM],
    "timerfd_create": [EMFILE, ENFILE, ENODEV, ENOMEM],
    "timerfd_settime": [EBADF, EINVAL],
    "unlinkat": [EACCES, EBUSY, EROFS],
    "waitid": [ECHILD, EINTR],
    "write": [EFBIG, EINTR, ENOMEM, ENOSPC],
  ]

  /// Sorted by name.
  static func of(_ call: String) -> [Int32] { (numbers[call] ?? []).sorted { name($0) < name($1) } }

  static var calls: [String] { Array(numbers.keys) }

  /// As C has it.
  static func name(_ error: Int32) -> String {
    failing_libc_error_name(error).map { String(cString: $0) } ?? "\(error)"
  }
}
