/**
 * <crunloop_kit/port_name.h>: names by which other processes find a port: listening sockets in a folder of the user.
 *
 * The folder is $XDG_RUNTIME_DIR/runloopkit if that path is absolute, else /run/user/UID/runloopkit if /run/user/UID is
 * a folder of this user's, else /tmp/runloopkit-UID [RLC-NAME-9].
 *
 * The process that holds the lock of the file NAME.lock owns the name. The kernel releases the lock when the process
 * ends, however it ends. So a claim replaces the socket of an owner that has died, and never that of a living one
 * [RLC-NAME-1, RLC-NAME-2]. That holds even if a cleaner of temporary files has removed the lock file [RLC-NAME-4]. The
 * socket and the lock file have the sticky bit, because the XDG base directory specification tells cleaners to spare
 * such files [RLC-NAME-5].
 *
 * Any process of the user can remove the socket or rename the folder. The owner has then lost the name: see
 * rlc_port_name_watch. The functions follow no symbolic link in the folder [RLC-NAME-6], except for
 * rlc_port_name_connect, because connect(2) follows them.
 *
 * A child of fork(2) inherits its parent's listener and connections. A child that runs no other program would keep them
 * open, so it must close them: the listener by rlc_port_name_abandon.
 */
#ifndef CRUNLOOP_KIT_PORT_NAME_H
#define CRUNLOOP_KIT_PORT_NAME_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/** The largest number of bytes in a name. */
enum { RLC_PORT_NAME_LONGEST = 64 };

/** A name that this process owns. Fill it by rlc_port_name_claim, and end it by rlc_port_name_release. */
typedef struct rlc_port_name {
    int folder;             /**< The folder. The caller owns it, and keeps it open until rlc_port_name_release. */
    int listener;           /**< Watch it for reading, and accept: see rlc_message_socket_accept. Non-blocking. */
    int lock;               /**< The lock file. */
    uint64_t device, inode; /**< Identify the socket in the folder. */
    char *path;             /**< The folder's path; the library owns it. NULL if rlc_port_folder_path differs. */
    char name[RLC_PORT_NAME_LONGEST + 1];
} rlc_port_name;

/**
 * Tells whether a string can be a name. A name has 1 to 64 of the characters A-Z a-z 0-9 . _ - and neither begins with
 * a dot nor ends in ".lock".
 *
 * @param name The string.
 *
 * Thread: [any].
 */
bool rlc_port_name_is_valid(const char *name);

/**
 * Computes the path of the folder from the process's environment and user. The folder need not exist.
 *
 * @param path     Where the path is written, with a 0 at its end.
 * @param capacity The size of `path` in bytes.
 * @return 0; -ENAMETOOLONG (it does not fit, or is longer than PATH_MAX).
 *
 * Thread: [any], while no thread changes the environment.  Cost: at most one system call.
 */
int rlc_port_folder_path(char *path, size_t capacity);

/**
 * Opens the folder, and creates it if it does not exist. The folder must belong to the effective user, have the mode
 * 0700, and be no symbolic link; otherwise the call fails [RLC-NAME-3]. If a folder of this user has fewer permissions,
 * because a umask has removed some, the call gives it the mode 0700 [RLC-FAIL-3].
 *
 * @return A descriptor that the caller owns; -EPERM (it belongs to another user, or its mode is not 0700), -ENOTDIR or
 *         -ELOOP (it is a file or a symbolic link), -ENAMETOOLONG; -ENOENT or -EACCES (its parent folder does not exist
 *         or is not writable), -ENOSPC, -EROFS, -EMFILE, -ENFILE, -ENOMEM. rlc_failed_call names the call.
 *
 * Thread: [any], while no thread changes the environment.  Cost: three or four system calls.
 */
int rlc_port_folder_open(void);

/**
 * Claims a name, and listens under it.
 *
 * A process must not claim a name that it owns already. The claim would succeed, because locks of fcntl(2) belong to
 * the process, and it would replace the first socket. So the embedder has to keep a list of its names.
 *
 * @param folder   From rlc_port_folder_open; must stay open until the name is released.
 * @param name     The name; copied.
 * @param ret_name The claim; the caller ends it by rlc_port_name_release.
 * @return 0; -EINVAL (see rlc_port_name_is_valid), -EADDRINUSE (a living process owns the name), -EACCES, -ENOSPC,
 *         -EROFS, -EMFILE, -ENFILE, -ENOMEM, -ENOBUFS, -EBADF (folder is not open), -ENOENT (the folder was removed, or
 *         there is no /proc), -EISDIR or -ELOOP (where a file should be, there is a folder or a symbolic link), -EMLINK
 *         (the lock file has a second link, or is no file), -EBUSY (another process puts files in the place of the
 *         socket), -EFBIG (by RLIMIT_FSIZE; SIGXFSZ is not delivered), -ENOLCK. A call that fails leaves no file
 *         [RLC-NAME-10], except perhaps an empty lock file, which hinders no later claim. rlc_failed_call names the
 *         call.
 *
 * Thread: [any], while no thread changes the environment.  Cost: some twenty system calls.
 */
int rlc_port_name_claim(int folder, const char *name, rlc_port_name *ret_name);

/**
 * Tells whether the name still leads to this owner's socket.
 *
 * @param name A claim.
 * @return False after a process has removed or replaced the socket. Also false while the path of the folder leads to
 *         another folder or to none, because the folder, or one around it, was renamed or mounted over [RLC-NAME-7].
 *
 * Thread: [any].  Cost: three system calls.
 */
bool rlc_port_name_is_owned(const rlc_port_name *name);

/**
 * Opens a descriptor that becomes readable when the result of rlc_port_name_is_owned may have changed. It becomes so
 * when the socket is removed, replaced, moved, or gets other attributes, and when the folder, a folder around it, or a
 * symbolic link in its path is renamed or removed [RLC-NAME-7]. The descriptor does not become readable when a file
 * system is mounted over one of them (poll /proc/self/mountinfo for POLLPRI), nor for renames of folders that this
 * process may not read.
 *
 * @param name A claim.
 * @return A descriptor, which the caller owns and empties by rlc_port_name_drain; -ESTALE (the socket is gone already),
 *         -EMFILE (the process has no number left, or the user no inotify instance), -ENFILE, -ENOSPC (the user has no
 *         inotify watch left), -ENOMEM, -ENOENT (there is no /proc).
 *
 * Thread: [any].  Cost: some ten system calls.  See: inotify(7).
 */
int rlc_port_name_watch(const rlc_port_name *name);

/**
 * Empties a descriptor of rlc_port_name_watch. Call it before rlc_port_name_is_owned: a change in between then makes
 * the descriptor readable again.
 * Thread: [any].  Cost: two system calls or a few more.
 */
void rlc_port_name_drain(int watch_fd);

/**
 * Gives up a name: closes its descriptors, and removes the socket and the lock file. If another process has replaced
 * one of these files, the call leaves that file [RLC-NAME-4].
 *
 * @param name The claim. The folder stays open.
 *
 * Thread: [any]; no other call may use the claim at the same time.  Cost: up to seven system calls.
 */
void rlc_port_name_release(rlc_port_name *name);

/**
 * Closes a claim's descriptors and leaves its files: for a child of fork(2), whose parent still owns the name.
 *
 * @param name The child's copy of the claim.
 *
 * Thread: [any]; no other call may use the claim at the same time.  Cost: two system calls.
 */
void rlc_port_name_abandon(rlc_port_name *name);

/**
 * Connects to the owner of a name. Each packet that arrives carries its sender's credentials, at both ends (see
 * rlc_received).
 *
 * @param folder From rlc_port_folder_open.
 * @param name   The name.
 * @return A descriptor that the caller owns; -ENOENT (no process owns the name, even if a child of an owner that has
 *         ended still holds the listener [RLC-NAME-8]; or there is no /proc), -EINVAL (see rlc_port_name_is_valid),
 *         -EAGAIN (the owner's queue of connections is full), -EACCES, -EMFILE, -ENFILE, -ENOMEM, -ENOBUFS, or another
 *         -errno of connect(2).
 *
 * Thread: [any].  Cost: nine system calls.
 */
int rlc_port_name_connect(int folder, const char *name);

RLC_END_DECLS
#endif
