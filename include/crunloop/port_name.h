/**
 * <crunloop/port_name.h>: names under which ports are found: listening sockets in a folder that is the user's alone.
 *
 * The folder is $XDG_RUNTIME_DIR/runloopkit, else /run/user/UID/runloopkit, else /tmp/runloopkit-UID. A name has an
 * owner as long as somebody holds the lock of NAME.lock, which goes with its process however that ends; so a socket that
 * a dead owner has left behind is replaced, and a living owner's never [RLC-NAME-1, RLC-NAME-2].
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
 * @param ret_name The caller's, until rlc_port_name_release.
 * @return 0; -EINVAL for a name that is none, -EADDRINUSE if it has an owner; -EMFILE, -ENFILE, -ENOSPC, -ENOMEM...
 *
 * Thread: [any].  Cost: a dozen system calls.
 */
RLC_API int rlc_port_name_claim(int folder, const char *name, rlc_port_name *ret_name);

/** Gives the name up: no socket and no lock is left behind, unless somebody has put another socket there.  Thread: [any]. */
RLC_API void rlc_port_name_release(rlc_port_name *name);

/** In a child of fork(2), whose parent owns the name: only closes.  Thread: [any]. */
RLC_API void rlc_port_name_abandon(rlc_port_name *name);

/**
 * Connects to a name's owner.
 *
 * @return The caller's descriptor; -ENOENT if nobody owns it, -EINVAL, -EAGAIN if its owner does not take the
 *         connections that wait already; -EACCES, -EMFILE...
 *
 * Thread: [any].  Cost: two system calls.
 */
RLC_API int rlc_port_name_connect(int folder, const char *name);

RLC_END_DECLS
#endif
