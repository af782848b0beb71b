// Who waits for what, on what, and who wakes it. No lock of a loop, an item or a port is held meanwhile, but by who
// waits for another one.
//
// A thread that needs another one sleeps on a number (`FutexWord`; in virtual time by `ParkedWaits`) or in the kernel:
//
// | who                        | for what              | on what              | woken by
// | a thread                   | a section's end       | `Lock`               | the holder
// | `performAndWait`, barriers | a block's end or loss | `BlockTicket`        | the loop, or who drops the block
// | `Thread.start`, `join`     | the next phase        | `Resident.phase`     | that thread
// | `send`, a full port        | room in the queue     | `Mailbox.room`       | who takes a message, or moves it
// | `send`, a full connection  | room in the socket    | ppoll(2)             | the kernel, when the peer reads
// | the same, too much unread  | a reader              | an epoll instance    | the kernel, when the peer reads
// | `invalidateAndWait`        | a callout's end       | `CalloutRecord.turn` | the loop, behind the callout
//
// A thread that serves its own loop meanwhile sleeps in a pass (`Wait.swift`), or in its host (`HostSleep.swift`). An
// event of the mode wakes it, an expiry, or the wakeup word (`WakeWord`). What its run ends for is an `AwaitedEnd`:
//
// | `run`                      | a stop, an empty mode | `Activation`         | who stops it, or takes out the last
// | `run(until:)`              | a condition           | `AwaitedCondition`   | each event, each wake: it asks again
// | `run(in:_:)`               | a task's end          | `AwaitedTask`        | the task, by a hidden port
// | `request`                  | an answer             | `AwaitedReply`       | who answers, by a hidden port
//
// A task is suspended in a `Resumption`, which resumes it once: for what has come, its cancellation, or its limit:
//
// | `perform`                  | a block's end or loss | `AwaitedCall`        | the loop, or who drops the block
// | `Thread.start`, `join`     | the next phase        | `PhaseWaiters`       | that thread
// | `send`, a full port        | room in the queue     | `RoomLine`           | who takes a message
// | `send`, a full connection  | room in the socket    | `SendLine`           | the I/O thread, which drives the line
// | `request`                  | an answer             | `PendingReply`       | who answers, or drops the right to
// | `sleep`                    | a date                | `Sleeper`            | its timer, or who drops that
// | `next` of a sequence       | an element            | `EventFeed`          | its item's callout, or the loop's end
// | `exit(of:)`                | a child's exit        | `ChildTurn`          | its source, or who drops that
//
// Without a thread or a task wait a closure, or an object, which is called:
//
// | `invalidate(finally:)`     | callouts' ends        | `FinalCall`          | the last loop, behind its callout
// | `onInvalidation`           | a port's end          | `Invalidation`       | who ends the port
// | `onDrop`                   | a block's loss        | `PostedBlock`        | who drops the block
// | a connection's message     | room in the queue     | `RoomWaiter`         | who takes a message
// | a job of an executor       | its turn              | `JobQueue`           | the loop; after its end `EndedLoops`
