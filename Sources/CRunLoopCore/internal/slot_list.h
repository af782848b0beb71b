/**
 * A list of records of one table, linked by their numbers both ways: half as large as the links of a TAILQ, and a timer
 * or a watch has them all its life (docs/decisions/0021).
 */
#ifndef RLC_SLOT_LIST_H
#define RLC_SLOT_LIST_H

#include "slot_table.h"

#define RLC_NO_SLOT UINT32_MAX

/** In each record, at the same place. */
typedef struct rlc_slot_link {
    uint32_t next, previous;
} rlc_slot_link;

typedef struct rlc_slot_list {
    uint32_t first, last;   /**< RLC_NO_SLOT if it is empty. */
    uint32_t link_position; /**< Of the link in a record. */
} rlc_slot_list;

static inline rlc_slot_list rlc_slot_list_empty(size_t link_position) {
    return (rlc_slot_list){RLC_NO_SLOT, RLC_NO_SLOT, (uint32_t)link_position};
}

static inline bool rlc_slot_list_is_empty(const rlc_slot_list *list) {
    return list->first == RLC_NO_SLOT;
}

static inline rlc_slot_link *rlc_slot_list_link(
    const rlc_slot_list *list, const rlc_slot_table *table, uint32_t number) {
    return (rlc_slot_link *)(void *)((unsigned char *)rlc_slot_table_at(table, number) + list->link_position);
}

static inline void rlc_slot_list_append(rlc_slot_list *list, const rlc_slot_table *table, uint32_t number) {
    *rlc_slot_list_link(list, table, number) = (rlc_slot_link){.next = RLC_NO_SLOT, .previous = list->last};
    if (list->last == RLC_NO_SLOT)
        list->first = number;
    else
        rlc_slot_list_link(list, table, list->last)->next = number;
    list->last = number;
}

static inline void rlc_slot_list_remove(rlc_slot_list *list, const rlc_slot_table *table, uint32_t number) {
    rlc_slot_link link = *rlc_slot_list_link(list, table, number);
    if (link.previous == RLC_NO_SLOT)
        list->first = link.next;
    else
        rlc_slot_list_link(list, table, link.previous)->next = link.next;
    if (link.next == RLC_NO_SLOT)
        list->last = link.previous;
    else
        rlc_slot_list_link(list, table, link.next)->previous = link.previous;
}

#endif
