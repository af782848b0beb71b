/*
 * A C program with an event loop of its own (here: poll(2)) that hosts an rlc_loop.
 *
 * The host needs three calls: rlc_loop_fd() once, rlc_loop_prepare() before each sleep, rlc_loop_dispatch() when the
 * descriptor was readable or prepare said that there is work already. The loop brings a watched pipe, a timer, a
 * function posted by another thread, and a plain wake-up.
 *
 *   cc main.c $(pkg-config --cflags --libs crunloop) -pthread
 */
#include <crunloop/crunloop.h>

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "c-embed: %s failed\n", what);
    exit(1);
}

/* What is to happen, and what the callbacks have seen. Everything runs on the main thread except the worker. */
typedef struct program {
    rlc_loop *loop;
    int pipe[2];
    int ticks;
    bool has_read, has_ended, has_posted;
} program;

static void pipe_is_ready(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)loop;
    program *program = context;
    char text[32];
    ssize_t size = read(program->pipe[0], text, sizeof text - 1);
    if (size > 0) {
        text[size] = '\0';
        printf("pipe:  %s\n", text);
        program->has_read = strcmp(text, "hello") == 0;
    } else if ((ready & RLC_HANGUP) != 0) {
        puts("pipe:  end of file");
        program->has_ended = true;
        rlc_watch_remove(watch); /* from its own callback: fine */
    }
}

static void timer_fires(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)loop;
    program *program = context;
    require(rlc_now(RLC_CLOCK_MONOTONIC) >= deadline_ns, "never early");
    printf("timer: tick %d\n", ++program->ticks);
    if (program->ticks == 3)
        rlc_timer_arm(timer, RLC_TIME_FOREVER, 0, 0);
}

/* A post is a node in an object of ours; the loop allocates nothing. */
typedef struct message {
    rlc_post_node node; /* first, so that the node is the message */
    program *program;
} message;

static void message_arrives(rlc_post_node *node, bool ran) {
    message *message = (struct message *)node;
    if (ran)
        puts("post:  a message from the worker");
    message->program->has_posted = ran;
    free(message);
}

static void *worker(void *context) {
    program *program = context;
    message *message = malloc(sizeof *message);
    require(message != NULL, "malloc");
    *message = (struct message){.node.post_fn = message_arrives, .program = program};
    require(rlc_loop_post(program->loop, &message->node) == 0, "post");
    require(write(program->pipe[1], "hello", 5) == 5, "write");
    close(program->pipe[1]);
    rlc_loop_wake(program->loop); /* any thread, also a signal handler */
    return NULL;
}

static bool is_done(const program *program) {
    return program->has_read && program->has_ended && program->has_posted && program->ticks == 3;
}

/* The host's own loop. A real host has more descriptors in here. */
static void host(program *program) {
    struct pollfd host_fds[] = {{.fd = rlc_loop_fd(program->loop), .events = POLLIN}};
    while (!is_done(program)) {
        int has_work = rlc_loop_prepare(program->loop);
        require(has_work >= 0, "prepare");
        int count = poll(host_fds, 1, has_work ? 0 : 5000);
        require(has_work || count > 0, "poll: nothing in five seconds");
        while (rlc_loop_dispatch(program->loop) > 0) {
            /* More is pending. A host with other work would look at that first. */
        }
    }
}

int main(void) {
    program program = {0};
    rlc_watch *watch;
    rlc_timer *timer;
    pthread_t thread;
    require(pipe(program.pipe) == 0, "pipe");
    require(rlc_loop_create(NULL, &program.loop) == 0, "create");
    require(rlc_loop_add_watch(program.loop, program.pipe[0], RLC_READABLE, pipe_is_ready, &program, &watch) == 0,
        "add_watch");
    require(rlc_loop_add_timer(program.loop, timer_fires, &program, &timer) == 0, "add_timer");
    require(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC) + 5 * MS, 5 * MS, 1 * MS) == 0, "arm");
    require(pthread_create(&thread, NULL, worker, &program) == 0, "pthread_create");

    host(&program);

    pthread_join(thread, NULL);
    rlc_timer_remove(timer);
    require(rlc_loop_destroy(program.loop) == 0, "destroy");
    close(program.pipe[0]);
    puts("c-embed: all of it happened");
    require(fflush(stdout) == 0, "standard output");
    return 0;
}
