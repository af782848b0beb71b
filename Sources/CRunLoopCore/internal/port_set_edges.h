/** Ports that were reported with an end which lasts: what port_set_edges.c does for the set's other files. */
#ifndef RLC_PORT_SET_EDGES_H
#define RLC_PORT_SET_EDGES_H

#include "port_set_internal.h"

/**
 * A port was reported with an end that may last. If it does, the port is quiet from now on: the edge set watches it,
 * and each of its events is news. If epoll refuses, take reports so.
 */
void rlc_port_set_settle(rlc_port_set *set, rlc_port *port, uint32_t events);
/** Remembers with which interest an end was reported. */
void rlc_port_note_told(rlc_port *port);
/** The port is level-triggered again, so that epoll reports its present readiness. */
void rlc_port_set_revive(rlc_port_set *set, rlc_port *port);
/** The edge set watches the owner's number as the state of its members asks. */
void rlc_port_set_update_edges(rlc_port_set *set, rlc_port *owner);
/** A new owner of the number of `older`, which was the owner: of its edges, too, if they share the number. */
void rlc_port_set_take_over_edges(rlc_port_set *set, rlc_port *port, rlc_port *older);
/** The owner leaves its number to the earlier member. */
void rlc_port_set_pass_edges(rlc_port_set *set, rlc_port *port, rlc_port *earlier);
/** The owner's number is not in the edge set any more. The last one closes the set. */
void rlc_port_set_unmark_edges(rlc_port_set *set, rlc_port *owner);
/** Deletes the number of the owner from the edge set, if it is there. */
void rlc_port_set_drop_edges(rlc_port_set *set, rlc_port *owner);
/**
 * Puts the oldest event of the edge set in the place of its own. Its port; NULL if there is none, or if the event is
 * passed on: several share the number, or the port reports nothing now.
 */
rlc_port *rlc_port_set_fetch_edge(rlc_port_set *set, struct epoll_event *event);
/** An end of these events hides something that the port waits for. */
bool rlc_port_set_has_more(const rlc_port_set *set, const rlc_port *port, uint32_t events);
/** Asks the kernel about the quiet ports that wait to write: no edge tells them that an error was taken. */
void rlc_port_set_look_behind_ends(rlc_port_set *set);
/** How long the wait may last that begins now: not at all, if it has to look at these. */
uint64_t rlc_port_set_limit_wait(rlc_port_set *set, uint64_t deadline_ns);

/* ---- quiet ports that stay in the first set: port_set_kept.c ---- */

/** With an end of these events it has to stay there. */
bool rlc_port_set_has_to_keep(const rlc_port_set *set, const rlc_port *port, uint32_t events);
/**
 * An event of the first set for a number whose members are quiet. If it is more than the end that was reported, and the
 * edge set did not report it, they are level-triggered again.
 */
void rlc_port_set_take_hint(rlc_port_set *set, rlc_port *owner, uint32_t events);
/**
 * Before a port becomes level-triggered: one that is kept, and has no error now, is going to be added anew. Only that
 * names its wait queue to epoll if it was added first while the error lasted.
 */
void rlc_port_set_hook_again(rlc_port_set *set, rlc_port *owner, const rlc_port *port);

#endif
