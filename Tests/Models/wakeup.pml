/*
 * The wakeup word, its eventfd, the stop word, and nested runs (SEMANTICS rules 15-20; wakeup_port.h).
 *
 * One owner thread runs activations on a stack. PUBLISHERS threads publish work for a mode and wake, KICKERS move a
 * deadline and kick, STOPPERS stop. A step of the model (a statement, or an atomic or d_step block) holds at most one
 * access to what threads share. Names that begin with g_ are ghosts: they say what must hold, the protocol never reads them.
 *
 * -DBUG_... plants one mistake, which the checker must find: README.md lists them.
 */

#ifndef PUBLISHERS
#define PUBLISHERS 1
#endif
#ifndef STOPPERS
#define STOPPERS 1
#endif
#ifndef KICKERS
#define KICKERS 0
#endif
#ifndef DEPTH
#define DEPTH 2 /* how deep runs nest */
#endif
#ifndef RUNS
#define RUNS 3 /* how many activations in all */
#endif

/* The word. The order matters: a larger one is never weakened. */
#define RUNNING 0
#define ASLEEP 1
#define KICKED 2
#define POSTED 3
#define CLOSED 4

/* Where in an activation a nested run was started, and so where it goes on. */
#define IN_ENTRY 0   /* an observer of entry */
#define IN_WINDOW 1  /* an observer, a block or a source between the top of a pass and its wait */
#define IN_CALLOUT 2 /* a callout after the wait */

/* Shared between threads. */
byte word = RUNNING;
bool edge[2];       /* one epoll set per mode: the eventfd's edge is in its ready list */
byte stop_word;     /* serial << 1 | bit; serial 0: nothing runs */
bool deadline_seen = true; /* the wait was computed with the deadline as it is now */

/* The owner's stack. */
byte level;
bool accepting[DEPTH];
bool owed[DEPTH];
byte held[DEPTH];    /* taken in a pass without a wait (rule 7(g)): the next wait's */
byte saved_stop[DEPTH];
byte mode[DEPTH];
byte site[DEPTH];
#define top (level - 1)

byte g_work[PUBLISHERS + 1];      /* 0: none, 1: published, 2: its wake was sent, 3: seen by the owner */
byte g_target[PUBLISHERS + 1];    /* the mode it is for */
bool g_window_has_wake[DEPTH]; /* a wake was sent since this activation's window opened */
bool g_exempt[DEPTH];          /* a wake was sent beyond a callout after a wait: rule 17 owes it nothing */
bool g_may_be_owed[DEPTH];     /* a wake was sent in its window, whatever enclosed what */
byte g_serial[DEPTH];
bool g_hit[DEPTH];             /* a stop hit this activation */
bool g_deferred[DEPTH];        /* ... between the top of a pass and its wait, before a nested run began there */
byte g_unwritten;              /* wakers between their change of the word and their write */
byte g_unkicked;               /* between a stop, or a move of a deadline, and its kick */
byte g_sleep_answers;          /* changes from ASLEEP by wakers since the owner fell asleep */
bool g_closed;
bool g_open = true;            /* the eventfd */
byte g_references = PUBLISHERS + STOPPERS + KICKERS + 1;

#define g_waits(p, m) (g_work[p] == 2 && g_target[p] == m)
#if PUBLISHERS == 0
#define g_work_waits(m) false
#elif PUBLISHERS == 1
#define g_work_waits(m) g_waits(0, m)
#else
#define g_work_waits(m) (g_waits(0, m) || g_waits(1, m))
#endif
#if DEPTH == 1
#define g_on_stack(s) (g_serial[0] == s)
#elif DEPTH == 2
#define g_on_stack(s) (g_serial[0] == s || g_serial[1] == s)
#else
#define g_on_stack(s) (g_serial[0] == s || g_serial[1] == s || g_serial[2] == s)
#endif

/* ---------------------------------------------------------------- any thread */

/*
 * A wake counts for the innermost activation if its window is open, and for those around it as far as each next one was
 * begun in the window of the one that encloses it (rules 15, 17): a callout after a wait is no window.
 */
inline g_wake_sent(id) {
    old = 0;
    do
    :: old < level -> g_may_be_owed[old] = g_may_be_owed[old] || accepting[old]; old++
    :: else -> break
    od;
    do
    :: old > 0 && (old == level || accepting[old - 1]) ->
       old--;
       g_window_has_wake[old] = g_window_has_wake[old] || accepting[old]
    :: else -> break
    od;
    do
    :: old > 0 -> old--; g_exempt[old] = true
    :: else -> break
    od;
    if :: g_work[id] == 1 -> g_work[id] = 2 :: else fi
}

inline write_eventfd() {
    assert(g_open); /* never a closed descriptor, which may be somebody else's by now */
    edge[0] = true;
    edge[1] = true
}

#ifdef BUG_TWO_STATES
#define nothing_to_post(to) (old != ASLEEP) /* a flag that knows awake and asleep leaves the awake owner alone */
#else
#define nothing_to_post(to) (old >= to)
#endif

/*
 * signal (to = POSTED, for the work of publisher id) and kick (to = KICKED). The loop of load and compare-and-swap is one
 * step: only the round that succeeds, or the load that finds nothing to do, has an effect. Then the write.
 */
inline post(to, id) {
#ifdef BUG_WRITE_FIRST
    if :: d_step { word == ASLEEP -> write_eventfd() } :: else fi;
#endif
    d_step {
        if :: to == POSTED -> g_wake_sent(id) :: else fi;
        old = word;
        assert(!g_closed || old == CLOSED); /* so it answers -ESHUTDOWN and does not write */
        if
        :: nothing_to_post(to) -> old = RUNNING
        :: else ->
           word = to;
           if
           :: old == ASLEEP ->
              g_unwritten++;
              g_sleep_answers++;
              assert(g_sleep_answers == 1) /* at most one write for a sleep */
           :: else -> old = RUNNING
           fi
        fi
    };
    if
    :: d_step {
           old == ASLEEP ->
           old = RUNNING;
#ifndef BUG_WRITE_FIRST
           write_eventfd();
#endif
           g_unwritten--
       }
    :: old == RUNNING
    fi
}

inline release_reference() {
    g_references--;
    if :: g_references == 0 -> g_open = false :: else fi
}

proctype publisher(byte id) {
    byte old;
    g_work[id] = 1;
    post(POSTED, id);
    d_step { release_reference() }
}

proctype kicker() {
    byte old;
    d_step { deadline_seen = false; g_unkicked++ };
    post(KICKED, 0);
    d_step { g_unkicked--; release_reference() }
}

proctype stopper() {
    byte old, stop;
    bool hit;
    do
    :: stop = stop_word;
       if
       :: stop >> 1 == 0 -> break /* nothing runs */
       :: stop >> 1 != 0
       fi;
#ifdef BUG_KICK_BEFORE_STOP
       post(KICKED, 0);
#endif
       d_step {
           if
           :: stop_word == stop ->
              stop_word = stop | 1;
              g_hit[top] = true;
              g_unkicked++;
              hit = true
           :: else
#ifdef BUG_STOP_NO_RETRY
              -> assert(!g_on_stack(stop >> 1)); stop = 0
#endif
           fi
       };
       if
       :: hit || stop == 0 -> break
       :: !hit && stop != 0
       fi
    od;
    if
    :: hit ->
#ifndef BUG_KICK_BEFORE_STOP
       post(KICKED, 0);
#endif
       g_unkicked--
    :: !hit
    fi;
    d_step { hit = false; stop = 0; release_reference() }
}

/* ---------------------------------------------------------------- the owner */

/* exchange(word, RUNNING). With `opens`, what is posted from now on is in the top's window; else the window is over. */
inline take(opens) {
#ifdef BUG_TAKE_STORE
    taken = word;
    atomic { word = RUNNING; accepting[top] = opens };
#else
    atomic { taken = word; word = RUNNING; accepting[top] = opens };
#endif
}

#ifdef BUG_NO_HELD_AT_END
#define left_held false
#else
#define left_held is_wake(held[top])
#endif

#ifdef BUG_KICK_IS_WAKE
#define is_wake(t) (t == POSTED || t == KICKED)
#else
#define is_wake(t) (t == POSTED)
#endif

/*
 * Activation `who` took what may have been meant for a run around it: the nearest that still accepts. That one passes it
 * on in its turn.
 */
inline owe_encloser_of(who) {
    d_step {
        k = who;
        do
        :: k > 0 && accepting[k - 1] ->
           owed[k - 1] = true;
           assert(g_may_be_owed[k - 1]); /* never for a kick, never for a wake of an earlier window */
           k = 0;
           break
        :: else -> k = 0; break
        od
    }
}

inline drain() {
    d_step {
        k = 0;
        do
        :: k < PUBLISHERS ->
           if
           :: g_work[k] > 0 && g_target[k] == mode[top] -> g_work[k] = 3
           :: else
           fi;
           k++
        :: else -> break
        od;
        k = 0
    }
}

/* A callout may run the loop again. */
inline callout(where) {
    if
    :: level < DEPTH && serial < RUNS -> site[top] = where; goto enter
    :: true
    fi
}

/* What must hold while the innermost activation is blocked and nobody is about to write. */
inline g_check_sleep() {
    assert(!g_work_waits(mode[top]) || g_exempt[top]); /* no lost wake: its work is seen */
    assert(!g_window_has_wake[top]);            /* nor one without work: rules 15, 17 */
    /* No lost stop: rules 19, 20. One whose kick a nested run took waits for the end of its pass: rule 17. */
    assert(g_unkicked > 0 || !g_hit[top] || g_deferred[top]);
    assert(g_unkicked > 0 || deadline_seen)     /* no lost kick */
}

active proctype owner() {
    byte taken, k, serial;
    bool blocks, is_stale;

idle:
    if
    :: serial < RUNS -> goto enter
    :: goto close
    fi;

    /* ---- run entry */
enter:
    if
#ifndef BUG_DROP_AT_ENTRY
    :: level > 0 && accepting[top] /* the word is kept */
#endif
    :: else ->
       /* What came while the encloser ignored wakes is dropped for the encloser. */
#ifdef BUG_TAKE_STORE
       taken = word;
       word = RUNNING;
#else
       d_step { taken = word; word = RUNNING };
#endif
       atomic {
           if
#ifndef BUG_DROP_AT_ENTRY
           :: level > 0 && is_wake(taken) -> owe_encloser_of(top)
#endif
           :: else
           fi;
           taken = 0
       }
    fi;
    atomic {
        serial++;
#ifndef REREADS
        if
        :: level > 0 && site[top] == IN_WINDOW && g_hit[top] -> g_deferred[top] = true
        :: else
        fi;
#endif
#ifdef BUG_STOP_NOT_SAVED
        saved_stop[level] = stop_word & 254;
#else
        saved_stop[level] = stop_word;
#endif
        stop_word = serial << 1;
        level++;
        accepting[top] = true;
        g_window_has_wake[top] = (word == POSTED);
        g_may_be_owed[top] = (word == POSTED);
        g_exempt[top] = false;
#if DEPTH > 2
        /* A wake between the drop above and this moment is this run's: its sender cannot tell. */
        if
        :: level == 3 && word == POSTED && !accepting[1] && !owed[0] -> g_window_has_wake[0] = false; g_exempt[0] = true
        :: else
        fi;
#endif
        g_serial[top] = serial;
        if
        :: mode[top] = 0
        :: mode[top] = 1
        fi
    };
    callout(IN_ENTRY);
entered:
    if
    :: stop_word & 1 -> goto stopped
    :: !(stop_word & 1)
    fi;

    /* ---- the pass */
pass:
#ifdef BUG_DROP_LATE
    drain();
#endif
    if
    :: !accepting[top] ->
       take(true);
       atomic {
           if
#ifndef BUG_NO_OWED_ON_DROP
           :: is_wake(taken) -> owe_encloser_of(top)
#endif
           :: else
           fi;
           taken = 0
       }
#if !defined(BUG_NO_STOP_CHECK) && !defined(REREADS)
       ;
       /* Its kick may be among what was dropped; that of a later stop is remembered. */
       if
       :: (stop_word & 1) && held[top] == 0 -> held[top] = KICKED
       :: else
       fi
#endif
    :: accepting[top]
    fi;
#ifndef BUG_DROP_LATE
    drain();
#endif
    callout(IN_WINDOW);
    if
    :: atomic { /* the main queue's turn, by 7(g): a pass without a wait */
           if :: word > held[top] -> held[top] = word :: else fi;
           word = RUNNING;
           accepting[top] = false;
           goto served
       }
    :: true
    fi;

window:
    atomic {
        deadline_seen = true;
        if
        :: !owed[top] && held[top] == 0 -> blocks = true
        :: blocks = false /* owed, held, a poll, or events of the last fetch are left */
        fi;
    };
    if
    :: blocks -> /* begin_wait */
       atomic {
#ifdef BUG_BLIND_SLEEP
           word = ASLEEP;
           g_sleep_answers = 0
#else
           if
           :: word == RUNNING -> word = ASLEEP; g_sleep_answers = 0
           :: word != RUNNING -> blocks = false
           fi
#endif
       };
#ifdef REREADS
       /* The small loop of the C core: a stop never waits for the end of a pass, also if a nested run took its kick. */
#ifndef BUG_NO_STOP_CHECK
       if
       :: blocks && (stop_word & 1) -> blocks = false
       :: else
       fi
#endif
#endif
    :: !blocks
    fi;
    if
    :: blocks ->
       do
       :: d_step { !edge[mode[top]] && g_unwritten == 0 -> g_check_sleep() }
       :: atomic { edge[mode[top]] -> edge[mode[top]] = false; is_stale = true; break } /* the hint, and nothing else */
       :: atomic { edge[mode[top]] = false; break } /* a port, a timer or the limit; the hint may come along */
       od
    :: !blocks ->
       if
       :: edge[mode[top]] = false /* looks without blocking */
       :: true                    /* goes on with the last fetch */
       fi
    fi;
#ifdef BUG_TAKE_STORE
    taken = word;
    atomic {
#else
    atomic {
        taken = word;
#endif
        word = RUNNING;
        g_sleep_answers = 0;
        blocks = false;
        is_stale = (is_stale && taken < KICKED);
        if
        :: is_stale -> is_stale = false; taken = 0; goto window /* the word is the truth: no pass */
#ifdef REREADS
        :: taken == KICKED && !owed[top] && held[top] == 0 -> taken = 0; goto window /* looks again; the next option is a pass */
#endif
        :: !is_stale -> accepting[top] = false
        fi;
        if
#ifndef BUG_NO_OWED
        :: is_wake(taken) || is_wake(held[top]) || owed[top] -> owe_encloser_of(top)
#endif
        :: else
        fi;
        taken = 0;
        held[top] = 0;
        owed[top] = false;
        g_window_has_wake[top] = false;
        g_may_be_owed[top] = false;
        g_exempt[top] = false
    };
    callout(IN_CALLOUT);
served:
    drain();
    if
    :: goto leave /* handled, timed out or finished */
    :: stop_word & 1 -> goto stopped
    :: atomic { !(stop_word & 1) -> assert(!g_hit[top]); goto pass }
    fi;

stopped:
    atomic {
        stop_word = stop_word & 254;
        assert(g_hit[top]) /* not by a stop that hit another activation: rule 20 */
    };

    /* ---- run end */
leave:
    if
    :: take(false)
    :: atomic { level == 1 -> accepting[top] = false } /* the kit's outermost: what was posted stays until the next run's entry */
    fi;
    atomic {
        if
#ifndef BUG_NO_OWED_AT_END
        :: is_wake(taken) || owed[top] || left_held -> owe_encloser_of(top)
#endif
        :: else
        fi;
        taken = 0;
        held[top] = 0;
        owed[top] = false;
        g_window_has_wake[top] = false;
        g_may_be_owed[top] = false;
        g_exempt[top] = false
    };
    atomic {
#ifdef BUG_STOP_REACHES_OUTER
        stop_word = saved_stop[top] | (stop_word & 1);
#else
        stop_word = saved_stop[top];
#endif
        saved_stop[top] = 0;
        mode[top] = 0;
        g_serial[top] = 0;
        g_hit[top] = false;
        g_deferred[top] = false;
        level--;
        if
        :: level == 0 -> goto idle
        :: level > 0 && site[top] == IN_ENTRY -> goto entered
        :: level > 0 && site[top] == IN_WINDOW -> site[top] = 0; goto window
        :: level > 0 && site[top] == IN_CALLOUT -> site[top] = 0; goto served
        fi
    };

close:
    atomic { word = CLOSED; g_closed = true };
    atomic {
        release_reference();
#ifdef BUG_CLOSE_FD
        g_open = false
#endif
    }
}

init {
    atomic {
        byte i = 0;
        do
        :: i < PUBLISHERS ->
           if
           :: g_target[i] = 0
           :: g_target[i] = 1
           fi;
           run publisher(i);
           i++
        :: else -> break
        od;
        i = 0;
        do :: i < STOPPERS -> run stopper(); i++ :: else -> break od;
        i = 0;
        do :: i < KICKERS -> run kicker(); i++ :: else -> break od
    }
}
