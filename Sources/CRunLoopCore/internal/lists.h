/**
 * The lists of the core: the macros of <sys/queue.h>, which need no library. They come from libbsd's headers, else from
 * the C library. musl has no such header, and neither does Swift's static SDK for Linux: there the macros that the core
 * uses stand here, with the meaning that queue(3) gives them.
 */
#ifndef RLC_LISTS_H
#define RLC_LISTS_H

#include <crunloop/base.h>

#if __has_include(<bsd/sys/queue.h>)
#include <bsd/sys/queue.h>
#elif __has_include(<sys/queue.h>)
#include <sys/queue.h>
#else

/* A list that is linked one way. */

#define SLIST_HEAD(name, type)                                                                                         \
    struct name {                                                                                                      \
        struct type *slh_first;                                                                                        \
    }
#define SLIST_ENTRY(type)                                                                                              \
    struct {                                                                                                           \
        struct type *sle_next;                                                                                         \
    }
#define SLIST_INIT(head) ((head)->slh_first = NULL)
#define SLIST_EMPTY(head) ((head)->slh_first == NULL)
#define SLIST_FIRST(head) ((head)->slh_first)
#define SLIST_NEXT(entry, link) ((entry)->link.sle_next)
#define SLIST_INSERT_HEAD(head, entry, link)                                                                           \
    do {                                                                                                               \
        (entry)->link.sle_next = (head)->slh_first;                                                                    \
        (head)->slh_first = (entry);                                                                                   \
    } while (0)
#define SLIST_INSERT_AFTER(before, entry, link)                                                                        \
    do {                                                                                                               \
        (entry)->link.sle_next = (before)->link.sle_next;                                                              \
        (before)->link.sle_next = (entry);                                                                             \
    } while (0)
#define SLIST_REMOVE_HEAD(head, link) ((head)->slh_first = (head)->slh_first->link.sle_next)
#define SLIST_REMOVE(head, entry, type, link)                                                                          \
    do {                                                                                                               \
        struct type **place = &(head)->slh_first;                                                                      \
        while (*place != (entry))                                                                                      \
            place = &(*place)->link.sle_next;                                                                          \
        *place = (*place)->link.sle_next;                                                                              \
    } while (0)

/* A list that is linked both ways: each entry has the address of the pointer that leads to it. */

#define TAILQ_HEAD(name, type)                                                                                         \
    struct name {                                                                                                      \
        struct type *tqh_first;                                                                                        \
        struct type **tqh_last;                                                                                        \
    }
#define TAILQ_ENTRY(type)                                                                                              \
    struct {                                                                                                           \
        struct type *tqe_next;                                                                                         \
        struct type **tqe_prev;                                                                                        \
    }
#define TAILQ_INIT(head) ((head)->tqh_first = NULL, (head)->tqh_last = &(head)->tqh_first)
#define TAILQ_FIRST(head) ((head)->tqh_first)
#define TAILQ_NEXT(entry, link) ((entry)->link.tqe_next)
/* The last pointer lies in the last entry's link, whose shape a head shares: so the head's last leads to the last. */
#define TAILQ_LAST(head, name) (*((struct name *)(void *)(head)->tqh_last)->tqh_last)
#define TAILQ_INSERT_TAIL(head, entry, link)                                                                           \
    do {                                                                                                               \
        (entry)->link.tqe_next = NULL;                                                                                 \
        (entry)->link.tqe_prev = (head)->tqh_last;                                                                     \
        *(head)->tqh_last = (entry);                                                                                   \
        (head)->tqh_last = &(entry)->link.tqe_next;                                                                    \
    } while (0)
#define TAILQ_REMOVE(head, entry, link)                                                                                \
    do {                                                                                                               \
        if ((entry)->link.tqe_next != NULL)                                                                            \
            (entry)->link.tqe_next->link.tqe_prev = (entry)->link.tqe_prev;                                            \
        else                                                                                                           \
            (head)->tqh_last = (entry)->link.tqe_prev;                                                                 \
        *(entry)->link.tqe_prev = (entry)->link.tqe_next;                                                              \
    } while (0)

#endif
#endif
