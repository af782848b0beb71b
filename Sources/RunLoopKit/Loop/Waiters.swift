// All waits: for what, where, and what ends them. A thread that waits holds no lock of a loop, an item or a port,
// unless it waits for another lock.
//
// A thread that waits for another one sleeps on a number (`FutexWord`; in virtual time `ParkedWaits`) or in the kernel:
//
// | waiter                     | waits for             | waits on             | woken by
// | a thread                   | a section's end       | `Lock`               | the holder
// | `performAndWait`, barriers | a block's end or loss | `BlockTicket`        | the loop, or a drop of the block
// | `Thread.start`, `join`     | the next phase        | `Resident.phase`     | that thread
// | `send`, a full port        | room in the queue     | `Mailbox.room`       | a thread that takes or moves a message
// | `send`, a full connection  | room in the socket    | ppoll(2)             | the kernel, when the peer reads
// | `send`, too much unread    | a reader              | an epoll instance    | the kernel, when the peer reads
// | `invalidateAndWait`        | a callout's end       | `CalloutRecord.turn` | the loop, after the callout
//
// A thread that serves its own loop while it waits sleeps in a pass (`Wait.swift`) or in its host (`HostSleep.swift`).
// An event of the mode wakes it, or an expiry, or a post to the wakeup word (`WakeWord`). In the last three rows of
// this table an `AwaitedEnd` ends the run:
//
// | waiter                     | waits for             | waits on             | woken by
// | `run`                      | a stop, an empty mode | `Stops`              | a stop; a removal alone wakes no run
// | `run(until:)`              | a condition           | `AwaitedCondition`   | an event or wake; then evaluates it
// | `run(in:_:)`               | a task's end          | `AwaitedTask`        | the task, by a hidden port
// | `request`                  | a reply               | `AwaitedReply`       | the replier, by a hidden port
//
// A task suspends in a `Resumption`. The first of what it waits for, its cancellation and its time limit resumes it:
//
// | waiter                     | waits for             | waits in             | resumed by
// | `perform`                  | a block's end or loss | `AwaitedCall`        | the loop, or a drop of the block
// | `Thread.start`, `join`     | the next phase        | `PhaseWaiters`       | that thread
// | `send`, a full port        | room in the queue     | `RoomLine`           | a thread that takes a message
// | `send`, a full connection  | room in the socket    | `SendLine`           | the I/O thread
// | `request`                  | a reply               | `PendingReply`       | the replier, or the loss of its right
// | `sleep`                    | a date                | `Sleeper`            | its timer, or the loss of that timer
// | `next` of a sequence       | an element            | `EventFeed`          | its item's callout, or the loop's end
// | `exit(of:)`                | a child's exit        | `ChildTurn`          | its source, or the loss of that source
//
// Closures and objects wait without a thread or a task, and are called:
//
// | waiter                     | waits for             | waits in             | called by
// | `invalidate(finally:)`     | callouts' ends        | `FinalCall`          | the last loop, after its callout
// | `onInvalidation`           | a port's end          | `Invalidation`       | a thread that ends the port
// | `onDrop`                   | a block's loss        | `PostedBlock`        | a thread that drops the block
// | a connection's message     | room in the queue     | `RoomWaiter`         | a thread that takes a message
// | a job of an executor       | its turn              | `JobQueue`           | the loop; after its end `EndedLoops`
