/**
 * A doubly linked list of records of one table, linked by their numbers. The links are half as large as those of a
 * TAILQ, which matters because each timer and watch has them all the time (docs/decisions/0021).
 */
#ifndef RLC_SLOT_LIST_H
#define RLC_SLOT_LIST_H

#include "slot_table.h"

#define RLC_NO_SLOT UINT32_MAX

/** Lies in each record at the same offset, the `position` of these functions. Pass a constant, for speed. */
typedef struct rlc_slot_link {
    uint32_t next, previous;
} rlc_slot_link;

/** Both are RLC_NO_SLOT if the list is empty. */
typedef struct rlc_slot_list {
    uint32_t first, last;
} rlc_slot_list;

static inline rlc_slot_list rlc_slot_list_empty(void) {
    return (rlc_slot_list){RLC_NO_SLOT, RLC_NO_SLOT};
}

static inline bool rlc_slot_list_is_empty(const rlc_slot_list *list) {
    return list->first == RLC_NO_SLOT;
}

static inline rlc_slot_link *rlc_slot_link_at(const rlc_slot_table *table, uint32_t number, size_t position) {
    return (rlc_slot_link *)(void *)((unsigned char *)rlc_slot_table_at(table, number) + position);
}

static inline void rlc_slot_list_append(
    rlc_slot_list *list, const rlc_slot_table *table, rlc_slot *slot, size_t position) {
    rlc_slot_link *link = (rlc_slot_link *)(void *)((unsigned char *)slot + position);
    *link = (rlc_slot_link){.next = RLC_NO_SLOT, .previous = list->last};
    if (list->last == RLC_NO_SLOT)
        list->first = slot->number;
    else
        rlc_slot_link_at(table, list->last, position)->next = slot->number;
    list->last = slot->number;
}

static inline void rlc_slot_list_remove(
    rlc_slot_list *list, const rlc_slot_table *table, const rlc_slot *slot, size_t position) {
    rlc_slot_link link = *(const rlc_slot_link *)(const void *)((const unsigned char *)slot + position);
    if (link.previous == RLC_NO_SLOT)
        list->first = link.next;
    else
        rlc_slot_link_at(table, link.previous, position)->next = link.next;
    if (link.next == RLC_NO_SLOT)
        list->last = link.previous;
    else
        rlc_slot_link_at(table, link.next, position)->previous = link.previous;
}

#endif
