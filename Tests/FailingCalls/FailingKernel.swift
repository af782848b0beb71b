import CRunLoopCore
import Glibc
import RunLoopKit
import Synchronization

/// The production kernel, of which one call of one kind fails once.
enum FailingKernel {
  /// The calls of the kernel table, with the errors that their manual pages list. Left out are answers that would be lies, because
  /// nothing could be lost where they are true: EAGAIN of a counter, which says that it is zero, and of a write to an eventfd, which
  /// says that it is full; and those that accuse the caller's arguments, where these are constants (EINVAL, EFAULT), but for the wait's.
  static let kinds: [(name: String, errors: [Int32])] = [
    ("epoll_create", [EMFILE, ENFILE, ENOMEM]),
    ("epoll_add", [ENOMEM, ENOSPC, EPERM, EBADF, EEXIST, ELOOP]),
    ("epoll_mod", [ENOMEM, ENOENT, EBADF]),
    ("epoll_del", [ENOMEM, ENOENT, EBADF]),
    ("epoll_wait", [EINTR, EBADF, EINVAL, EFAULT]),
    ("eventfd", [EMFILE, ENFILE, ENODEV, ENOMEM]),
    ("timerfd_create", [EMFILE, ENFILE, ENODEV, ENOMEM]),
    ("timerfd_set", [EBADF, EINVAL, ECANCELED]),
    ("read", [EINTR, EBADF, EIO, ECANCELED]),
    ("write", [EINTR, EBADF]),
    ("poll", [EINTR, ENOMEM]),
    ("readable_bytes", [EBADF, ENOTTY]),
    ("counter_empties", [EBADF, EINVAL, ENOMEM]),
    ("status_flags", [EBADF]),
    ("close", [EINTR, EIO]),
    ("replace", [EMFILE, EINTR, EBUSY]),
  ]

  private static let kind = Atomic<Int>(-1)
  private static let error = Atomic<Int32>(0)
  private static let remaining = Atomic<Int>(0)
  nonisolated(unsafe) private static let counts = UnsafeMutablePointer<Atomic<Int>>.allocate(capacity: kinds.count)

  static func plan(_ name: String, _ call: Int, _ number: Int32) {
    kind.store(kinds.firstIndex { $0.name == name }!, ordering: .relaxed)
    error.store(number, ordering: .relaxed)
    remaining.store(call, ordering: .sequentiallyConsistent)
  }

  static var hasFailed: Bool { remaining.load(ordering: .relaxed) <= 0 }

  static var calls: [(name: String, count: Int)] {
    kinds.indices.map { (kinds[$0].name, counts[$0].load(ordering: .relaxed)) }
  }

  /// `-error` if this is the call that fails.
  private static func failure(_ index: Int) -> Int32? {
    counts[index].add(1, ordering: .relaxed)
    guard index == kind.load(ordering: .relaxed) else { return nil }
    return remaining.subtract(1, ordering: .relaxed).newValue == 0 ? -error.load(ordering: .relaxed) : nil
  }

  private static func control(_ operation: Int32) -> Int {
    switch operation {
    case EPOLL_CTL_ADD: 1
    case EPOLL_CTL_MOD: 2
    default: 3
    }
  }

  /// For the calling thread, and those of the kit that it starts.
  static func install() {
    for index in kinds.indices { (counts + index).initialize(to: Atomic(0)) }
    var table = rlc_kernel_copy()
    table.epoll_create = { FailingKernel.failure(0) ?? rlc_kernel_default().pointee.epoll_create($0) }
    table.epoll_control = { context, set, operation, descriptor, event in
      FailingKernel.failure(FailingKernel.control(operation))
        ?? rlc_kernel_default().pointee.epoll_control(context, set, operation, descriptor, event)
    }
    table.epoll_wait = { context, set, events, capacity, deadline in
      FailingKernel.failure(4) ?? rlc_kernel_default().pointee.epoll_wait(context, set, events, capacity, deadline)
    }
    table.eventfd_create = { FailingKernel.failure(5) ?? rlc_kernel_default().pointee.eventfd_create($0) }
    table.timerfd_create = { FailingKernel.failure(6) ?? rlc_kernel_default().pointee.timerfd_create($0, $1) }
    table.timerfd_set = { FailingKernel.failure(7) ?? rlc_kernel_default().pointee.timerfd_set($0, $1, $2) }
    table.read = { context, descriptor, buffer, size in
      FailingKernel.failure(8).map(Int64.init) ?? rlc_kernel_default().pointee.read(context, descriptor, buffer, size)
    }
    table.write = { context, descriptor, buffer, size in
      FailingKernel.failure(9).map(Int64.init) ?? rlc_kernel_default().pointee.write(context, descriptor, buffer, size)
    }
    table.poll = { FailingKernel.failure(10) ?? rlc_kernel_default().pointee.poll($0, $1, $2) }
    table.readable_bytes = { FailingKernel.failure(11) ?? rlc_kernel_default().pointee.readable_bytes($0, $1) }
    table.counter_empties = {
      FailingKernel.failure(12) ?? rlc_kernel_default().pointee.counter_empties($0, $1)
    }
    table.status_flags = { FailingKernel.failure(13) ?? rlc_kernel_default().pointee.status_flags($0, $1) }
    table.close = { context, descriptor in
      // close(2) has closed it, whatever it answers.
      let status = rlc_kernel_default().pointee.close(context, descriptor)
      return FailingKernel.failure(14) ?? status
    }
    table.replace = { FailingKernel.failure(15) ?? rlc_kernel_default().pointee.replace($0, $1, $2) }
    Kernel(table).enter()
  }
}
