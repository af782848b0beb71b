/*
 * The post queue, and how rlc_loop_post wakes (post_queue.h, loop.h): a stack that only its owner takes, whole, and turns
 * round. PRODUCERS threads push NODES nodes each, some a second time; the owner takes, sleeps, and closes at any moment.
 *
 * -DBUG_... plants one mistake, which the checker must find: README.md lists them. Names that begin with g_ are ghosts.
 */

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef NODES
#define NODES 2
#endif
#ifndef PUSHES
#define PUSHES 3 /* a producer's; more than NODES: the first nodes come again (ABA) */
#endif

#define ALL (PRODUCERS * NODES)
#define EMPTY 0
#define CLOSED_HEAD 255

#define RUNNING 0
#define ASLEEP 1
#define POSTED 2
#define CLOSED 3

byte head = EMPTY; /* nodes are 1 ... ALL */
byte next[ALL + 1];
byte word = RUNNING;
bool edge;

byte g_state[ALL + 1];         /* 0: the caller's, 1: being posted, 2: posted and not called yet */
byte g_number[ALL + 1];        /* which of its producer's pushes */
byte g_last_run[PRODUCERS];    /* the number that ran last */
byte g_unwritten;              /* wakers between their change of the word and their write */
byte g_waiting;                /* nodes in the queue whose post has returned */
byte g_finished;               /* producers */
bool g_closed;

/* 1: was empty, 0: was not, 2: refused. */
inline push(node) {
    seen = head;
    do
    :: seen == CLOSED_HEAD -> result = 2; break
    :: seen != CLOSED_HEAD ->
       next[node] = seen;
       d_step {
#ifdef BUG_PUSH_STORE
           if
           :: true ->
#else
           if
           :: head == seen ->
#endif
              head = node;
              result = (seen == EMPTY);
              seen = ALL + 1
           :: else -> seen = head
           fi
       };
       if
       :: seen == ALL + 1 -> break
       :: seen != ALL + 1
       fi
    od;
    seen = 0
}

inline signal() {
    d_step {
        seen = word;
        if
        :: seen == ASLEEP -> g_unwritten++
        :: else
        fi;
        if
        :: seen != CLOSED -> word = POSTED
        :: else
        fi
    };
    if
    :: d_step { seen == ASLEEP -> edge = true; g_unwritten-- }
    :: seen != ASLEEP
    fi;
    seen = 0
}

#ifdef BUG_LOOKS_FIRST
#define sees_asleep g_saw_asleep
#else
#define sees_asleep (word == ASLEEP)
#endif

proctype producer(byte id) {
    byte seen, result, pushes, node;
    bool g_was_closed, g_saw_asleep;
    do
    :: pushes < PUSHES ->
       node = id * NODES + 1 + pushes % NODES;
       g_state[node] == 0; /* a node that runs again is the caller's again */
       d_step {
           pushes++;
           g_state[node] = 1;
           g_number[node] = pushes;
           g_was_closed = g_closed
       };
#ifdef BUG_LOOKS_FIRST
       if
       :: word == ASLEEP -> g_saw_asleep = true
       :: word != ASLEEP
       fi;
#endif
       push(node);
       assert(!g_was_closed || result == 2);
       if
       :: d_step { result == 2 -> assert(g_closed && g_state[node] == 1); g_state[node] = 0 }
#ifdef BUG_FIRST_ONLY
       :: result == 0 -> skip
       :: result == 1 ->
#else
       :: result != 2 ->
#endif
          if
          :: sees_asleep -> signal()
          :: !sees_asleep
          fi
       fi;
       d_step {
           if :: g_state[node] == 1 -> g_state[node] = 2; g_waiting++ :: else fi;
           result = 0;
           node = 0;
           g_was_closed = false;
           g_saw_asleep = false
       }
    :: else -> break
    od;
    atomic { pushes = 0; g_finished++ }
}

/* Oldest first. Owner only: these nodes are nobody else's. */
inline turn_round(stack) {
#ifdef BUG_NOT_REVERSED
    list = stack
#else
    d_step {
        list = EMPTY;
        do
        :: stack != EMPTY -> node = next[stack]; next[stack] = list; list = stack; stack = node
        :: else -> break
        od;
        node = 0
    }
#endif
}

/* post_fn: from here on the node is the caller's again. */
inline call(n) {
    d_step {
        assert(g_state[n] > 0); /* pushed, and not called yet */
        if :: g_state[n] == 2 -> g_waiting-- :: else fi;
        g_state[n] = 0;
        assert(g_number[n] > g_last_run[(n - 1) / NODES]); /* FIFO for each producer */
        g_last_run[(n - 1) / NODES] = g_number[n]
    }
}

inline call_all() {
    do
    :: list != EMPTY ->
       node = list;
#ifdef BUG_NEXT_AFTER_CALL
       call(node);
       list = next[node];
#else
       list = next[node];
       call(node);
#endif
       node = 0
    :: list == EMPTY -> break
    od
}

active proctype owner() {
    byte stack, list, node;
    bool sleeps;
    do
    :: true -> /* rlc_post_queue_take_all */
       if
       :: head != EMPTY && head != CLOSED_HEAD ->
#ifdef BUG_TAKE_STORE
          stack = head;
          head = EMPTY;
#else
          atomic { stack = head; head = EMPTY };
#endif
          turn_round(stack);
          call_all()
       :: head == EMPTY
       fi;
       stack = EMPTY;
       if
       :: atomic { word == RUNNING -> word = ASLEEP; sleeps = true }
       :: word != RUNNING
       fi;
#ifndef BUG_NO_RECHECK
       if
       :: sleeps && head != EMPTY -> sleeps = false
       :: else
       fi;
#endif
       do
       :: d_step { sleeps && !edge && g_unwritten == 0 -> assert(g_waiting == 0) }
       :: atomic { sleeps && edge -> edge = false; break }
       :: atomic { true -> edge = false; break } /* something else ends the wait, or it only looked */
       od;
       atomic { word = RUNNING; sleeps = false }
    :: break
    od;

    /* The end of the loop: close, call the rest with ran = false, and look once more, which finds nothing. */
#ifdef BUG_CLOSE_STORE
    stack = head;
    d_step { head = CLOSED_HEAD; g_closed = true };
#else
    atomic { stack = head; head = CLOSED_HEAD; g_closed = true };
#endif
    turn_round(stack);
    call_all();
    atomic { word = CLOSED; stack = EMPTY };
#ifdef BUG_TAKE_REOPENS
    atomic { stack = head; head = EMPTY; stack = EMPTY };
#endif
    g_finished == PRODUCERS;
    d_step {
        assert(head == CLOSED_HEAD);
        node = 1;
        do
        :: node <= ALL -> assert(g_state[node] == 0); node++ /* each ran once, or was refused */
        :: else -> break
        od
    }
}

init {
    atomic {
        byte i = 0;
        do :: i < PRODUCERS -> run producer(i); i++ :: else -> break od
    }
}
