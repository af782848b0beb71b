/*
 * A loop inside a host's loop: prepare before every sleep of the host, dispatch after it (Hosting.swift; with -DCORE as
 * rlc_loop does it, loop.h). The host polls the epoll descriptor, which is readable while the eventfd's edge is in its
 * ready list; a look of the loop's own takes that edge away, although nobody may have taken the word yet.
 *
 * -DBUG_... plants one mistake, which the checker must find: README.md lists them. Names that begin with g_ are ghosts.
 */

#define RUNNING 0
#define ASLEEP 1
#define KICKED 2
#define POSTED 3

byte word = RUNNING;
bool edge;
bool waits;    /* the stop word: a host's wait is current */
bool stop_bit;
bool work;     /* a block or a signalled source, under the lock */
byte held;     /* what a wait had taken when another prepare ended it */
bool held_stop;

bool g_work_sent;  /* the wake for the work was sent */
bool g_wake;       /* a wake was sent since the host's wait began */
bool g_hit;        /* a stop hit the host's wait */
byte g_unwritten;
byte g_unkicked;

inline post(to) {
    d_step {
        old = word;
        if
        :: to == POSTED -> g_wake = true; g_work_sent = g_work_sent || work
        :: else
        fi;
        if
        :: old < to -> word = to
        :: else -> old = RUNNING
        fi;
        if
        :: old == ASLEEP -> g_unwritten++
        :: else -> old = RUNNING
        fi
    };
    if
    :: d_step { old == ASLEEP -> edge = true; g_unwritten--; old = RUNNING }
    :: old != ASLEEP
    fi
}

active [2] proctype waker() {
    byte old;
    byte times;
    do
    :: times < 2 ->
       times++;
       if
       :: work = true
       :: true /* a bare wake */
       fi;
       post(POSTED)
    :: break
    od;
    times = 0
}

#ifndef CORE
active proctype stopper() {
    byte old;
    byte times;
    do
    :: times < 2 ->
       times++;
       if
       :: d_step { waits -> stop_bit = true; g_hit = true; g_unkicked++ };
          post(KICKED);
          g_unkicked--
       :: !waits
       fi
    :: break
    od;
    times = 0
}
#endif

/* What a pass that does not wait does: look, take, call what is there. */
inline pass() {
    edge = false;
    d_step { word = RUNNING; g_wake = false };
    d_step { work = false; g_work_sent = false }
}

#ifdef CORE

inline prepare() {
    has_work = work;
    if
    :: !has_work ->
#ifdef BUG_PREPARE_DROPS
       word = RUNNING;
#endif
       atomic {
           if
           :: word == RUNNING -> word = ASLEEP
           :: word == ASLEEP /* prepared twice */
           :: word > ASLEEP -> has_work = true
           fi
       };
       has_work = (has_work || work)
    :: has_work
    fi
}

inline dispatch() {
    pass()
}

#else

inline end_hosted_wait() {
    if
    :: waits ->
       d_step {
           taken = word;
           word = RUNNING;
           if :: taken > ASLEEP && taken > held -> held = taken :: else fi;
           taken = 0
       };
       d_step { waits = false; held_stop = held_stop || stop_bit; stop_bit = false }
    :: !waits
    fi
}

inline look_for_work() {
    edge = false;
    has_work = (held > 0 || held_stop || work)
}

inline prepare() {
    end_hosted_wait();
    look_for_work();
    if
    :: !has_work ->
       d_step { waits = true; stop_bit = false };
       d_step { word = RUNNING; g_wake = false }; /* while nothing waited, a wake had nothing to do (rule 15) */
       atomic {
           if
           :: word == RUNNING -> word = ASLEEP
           :: word != RUNNING -> has_work = true
           fi
       };
#ifdef BUG_LOOK_LAST
       has_work = has_work || stop_bit;
       if
       :: !has_work -> look_for_work()
       :: has_work
       fi
#else
       if
       :: !has_work -> look_for_work()
       :: has_work
       fi;
       has_work = has_work || stop_bit;
       has_work = (has_work || word != ASLEEP) /* the look may have taken the edge of who left ASLEEP meanwhile */
#endif
    :: has_work
    fi
}

inline dispatch() {
    end_hosted_wait();
    look_for_work();
    assert(!g_hit || held_stop); /* a stop between prepare and dispatch is answered */
    atomic { held = 0; held_stop = false; g_hit = false; g_wake = false };
    if
    :: has_work -> pass()
    :: !has_work
    fi
}

#endif

active proctype host() {
    byte taken;
    bool has_work;
    do
    :: prepare();
       if
       :: has_work
       :: !has_work ->
          do
          :: d_step {
                 !edge && g_unwritten == 0 ->
                 assert(!g_work_sent);
                 assert(!g_wake);
                 assert(g_unkicked > 0 || !g_hit)
             }
          :: edge -> break
          :: break /* another descriptor of the host */
          od
       fi;
       has_work = false;
       if
       :: dispatch(); has_work = false
       :: true /* the host prepares again */
       fi
    od
}
