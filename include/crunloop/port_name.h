/**
 * <crunloop/port_name.h>: names under which ports are found: listening sockets in a folder that is the user's alone.
 *
 * The folder is $XDG_RUNTIME_DIR/runloopkit, else /run/user/UID/runloopkit, else /tmp/runloopkit-UID. A name has an
 * owner as long as somebody holds the lock of NAME.lock, which goes with its process however that ends; so a socket
 * that a dead owner has left behind is replaced, and a living owner's never [RLC-NAME-1, RLC-NAME-2]: not even if a
 * cleaner of temporary files has taken the lock away [RLC-NAME-4]. Both files have the sticky bit, by which the XDG
 * base directory specification keeps such cleaners off [RLC-NAME-5]. Who removes the socket takes the name away; its
 * owner can be told.
 */
#ifndef CRUNLOOP_PORT_NAME_H
#define CRUNLOOP_PORT_NAME_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

enum { RLC_PORT_NAME_LONGEST = 64 };

typedef struct rlc_port_name {
    int folder;   /**< Borrowed: it must stay open until rlc_port_name_release. */
    int listener; /**< To be watched for reading; see rlc_message_socket_accept. */
    int lock;
    uint64_t device, inode; /**< Of the socket. */
    char name[RLC_PORT_NAME_LONGEST + 1];
} rlc_port_name;

/** 1...64 of A-Z a-z 0-9 . _ -, the first no dot, not ending in ".lock".  Thread: [any]. */
RLC_API bool rlc_port_name_is_valid(const char *name);

/**
 * Where the folder is, or would be, in this environment.
 *
 * @return 0; -ENAMETOOLONG.  Thread: [any], unless the environment changes.
 */
RLC_API int rlc_port_folder_path(char *path, size_t capacity);

/**
 * The folder, made if need be: 0700, the effective user's, no symbolic link; else an error [RLC-NAME-3].
 *
 * @return The caller's descriptor; -EPERM if it is somebody else's or open to others, -ENOTDIR, -ELOOP; -ENOENT,
 *         -EACCES...
 *
 * Thread: [any], unless the environment changes.  Cost: three system calls or four.
 */
RLC_API int rlc_port_folder_open(void);

/**
 * Listens under a name. A process asks for a name that it owns itself in vain only if it keeps a list: locks of
 * fcntl(2) are the process's, and asking again would end the first one.
 *
 * @param folder   From rlc_port_folder_open.
 * @param name     The name; see rlc_port_name_is_valid.
 * @param ret_name The caller's, until rlc_port_name_release.
 * @return 0; -EINVAL for a name that is none, -EADDRINUSE if it has an owner; -EMFILE, -ENFILE, -ENOSPC, -ENOMEM...
 *
 * Thread: [any].  Cost: a dozen system calls.
 */
RLC_API int rlc_port_name_claim(int folder, const char *name, rlc_port_name *ret_name);

/**
 * True while the name leads to this owner's socket: false once somebody has removed or replaced it.
 *
 * Thread: [any].  Cost: one system call.
 */
RLC_API bool rlc_port_name_is_owned(const rlc_port_name *name);

/**
 * Tells that rlc_port_name_is_owned may have changed. A folder that is moved as a whole is not noticed.
 *
 * @return The caller's descriptor, readable then, to be emptied by rlc_port_name_drain; -ESTALE if the socket is gone
 *         already; -EMFILE (also: the user's inotify instances are used up), -ENOSPC (their watches), -ENOMEM...
 *
 * Thread: [any].  Cost: two system calls.  See: inotify(7).
 */
RLC_API int rlc_port_name_watch(const rlc_port_name *name);

/** Empties it, before the caller asks rlc_port_name_is_owned.  Thread: [any]. */
RLC_API void rlc_port_name_drain(int watch_fd);

/**
 * Gives the name up: no socket and no lock is left behind. What another owner has put there meanwhile stays
 * [RLC-NAME-4].
 *
 * Thread: [any].
 */
RLC_API void rlc_port_name_release(rlc_port_name *name);

/** In a child of fork(2), whose parent owns the name: only closes.  Thread: [any]. */
RLC_API void rlc_port_name_abandon(rlc_port_name *name);

/**
 * Connects to a name's owner. Each packet that comes tells its own sender, as for the owner (rlc_received).
 *
 * @return The caller's descriptor; -ENOENT if nobody owns it, -EINVAL, -EAGAIN if its owner does not take the
 *         connections that wait already; -EACCES, -EMFILE...
 *
 * Thread: [any].  Cost: two system calls.
 */
RLC_API int rlc_port_name_connect(int folder, const char *name);

RLC_END_DECLS
#endif
