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
bool mark;     /* something for an observer of before-waiting: a commit, an idle block */
byte held;     /* what a wait had taken when another prepare ended it, or a run of the host's own */
bool held_stop;

bool g_work_sent;  /* the wake for the work was sent */
bool g_mark_sent;  /* the wake for the mark was sent */
bool g_wake;       /* a wake was sent since the host's wait began */
bool g_prepared;   /* from the beginning of prepare until dispatch has notified after-waiting */
bool g_hit;        /* a stop was sent in that time */
byte g_unwritten;
byte g_unkicked;

inline post(to) {
    d_step {
        old = word;
        if
        :: to == POSTED -> g_wake = true; g_work_sent = g_work_sent || work; g_mark_sent = g_mark_sent || mark
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
#ifndef CORE
       :: mark = true
#endif
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
       :: d_step { waits -> stop_bit = true; g_hit = g_prepared; g_unkicked++ };
          post(KICKED);
          g_unkicked--
       :: d_step { !waits -> g_hit = (g_hit || g_prepared) } /* to nobody */
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

inline keep_posted() {
    d_step {
        taken = word;
        word = RUNNING;
        if :: taken > ASLEEP && taken > held -> held = taken :: else fi;
        taken = 0
    }
}

inline take_stop() {
    d_step { waits = false; g_prepared = false; held_stop = held_stop || stop_bit; stop_bit = false }
}

inline begin_hosted_wait() {
    if
    :: !prepared ->
#ifdef BUG_STOP_LATE
       g_prepared = true;
#else
       d_step { waits = true; g_prepared = true; stop_bit = false };
#endif
#ifdef BUG_DROP_LATE
       g_wake = false
#else
       d_step { word = RUNNING; g_wake = false } /* while nothing waited, a wake had nothing to do (rule 15) */
#endif
    :: prepared ->
       d_step {
           if :: word == POSTED -> held = POSTED :: else fi; /* a kick asks for the look that follows here, too */
           word = RUNNING
       };
       held_stop = (held_stop || stop_bit)
    fi;
    prepared = true
}

/* Its stops are its own: the stop word is put aside meanwhile, and back. What it takes the host is owed. */
inline nested_run() {
    edge = false;
    d_step {
#ifndef BUG_RUN_OWES_NOTHING
        if :: word == POSTED -> held = POSTED :: else fi;
#endif
        word = RUNNING
    };
    d_step { work = false; g_work_sent = false };
    d_step { mark = false; g_mark_sent = false }
}

/* Between prepare and the host's sleep. */
inline run_of_the_hosts_own() {
    nested_run();
#ifndef BUG_RUN_LEAVES_AWAKE
    keep_posted();
    do
    :: atomic { word == RUNNING -> word = ASLEEP; break }
    :: atomic { word != RUNNING -> keep_posted() }
    od;
    post(KICKED)
#endif
}

inline look_for_work() {
    edge = false;
    has_work = (held > 0 || held_stop || work)
}

inline prepare() {
    begin_hosted_wait();
    look_for_work();
    if
    :: !has_work ->
       /* the observers of before-waiting */
       d_step { mark = false; g_mark_sent = false };
       if
       :: nested_run() /* one of them runs the loop */
       :: true
       fi;
#ifdef BUG_STOP_LATE
       d_step { waits = true; stop_bit = false };
#endif
#ifdef BUG_DROP_LATE
       word = RUNNING;
#endif
       told = true;
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
    keep_posted();
#ifdef BUG_STOP_BEFORE_OBSERVERS
    d_step { waits = false; held_stop = held_stop || stop_bit; stop_bit = false };
#endif
    if
    :: told -> told = false /* the observers of after-waiting: others go on meanwhile */
    :: !told
    fi;
    take_stop();
    prepared = false;
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
    byte old;
    bool has_work;
    bool prepared;
    bool told;
    do
    :: prepare();
       if
       :: has_work
       :: !has_work ->
#ifndef CORE
          if
          :: run_of_the_hosts_own()
          :: true
          fi;
#endif
          do
          :: d_step {
                 !edge && g_unwritten == 0 ->
                 assert(!g_work_sent);
                 assert(!g_mark_sent);
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
