/* Two threads of a host in C, with messages between them: a port in the worker's loop, and a request to it.
 *   cc ports.c $(pkg-config --cflags --libs runloopkit) -pthread */
#include <runloopkit/runloopkit.h>
#include <stdio.h>
#include <stdlib.h>

static void demand(int status, const char *what) {
    if (status < 0) {
        fprintf(stderr, "%s: error %d\n", what, -status);
        exit(EXIT_FAILURE);
    }
}

static rlk_message *make(uint32_t id, const char *text, size_t size) {
    rlk_message *message;
    rlk_message_options options = {.size = sizeof options, .id = id, .bytes = text, .byte_count = size};
    demand(rlk_message_create(&options, &message), "rlk_message_create");
    return message;
}

static void say(const char *what, rlk_message *message) {
    const void *bytes;
    size_t count;
    demand(rlk_message_bytes(message, 0, &bytes, &count), "rlk_message_bytes");
    printf("%s %u: %.*s\n", what, (unsigned)rlk_message_id(message), (int)count, (const char *)bytes);
}

/* On the worker's thread. */
static void receive(rlk_item *port, rlk_message *question, void *context) {
    (void)port, (void)context;
    rlk_right *reply;
    rlk_message *answer = make(rlk_message_id(question) + 1, "pong", 4);
    say("question", question);
    demand(rlk_message_reply(question, &reply), "rlk_message_reply");
    demand(rlk_right_send(reply, answer, 0), "rlk_right_send");
    rlk_right_release(reply);
    rlk_message_release(answer);
}

static int serve(rlk_loop *loop, void *port) {
    int status = rlk_loop_add(loop, port, NULL);
    return status < 0 ? status : 0;
}

int main(void) {
    rlk_item *port;
    rlk_right *right;
    rlk_thread *worker;
    rlk_message *question = make(7, "ping", 4), *answer;
    demand(rlk_port_create(&(rlk_port_options){.size = sizeof(rlk_port_options), .receive = receive}, &port),
        "rlk_port_create");
    demand(rlk_port_right(port, &right), "rlk_port_right");
    rlk_thread_options options = {.size = sizeof options, .name = "worker", .set_up = serve, .context = port};
    demand(rlk_thread_create(&options, &worker), "rlk_thread_create");
    demand(rlk_thread_start(worker), "rlk_thread_start");
    /* In a mode of its own, this thread's loop calls nothing else until the answer has come. */
    demand(rlk_right_request(right, question, 5000000000, "asking", &answer), "rlk_right_request");
    say("answer", answer);
    demand(rlk_thread_stop(worker, RLK_ENDING_AFTER_DUE_WORK), "rlk_thread_stop");
    demand(rlk_thread_join(worker, RLK_TIME_FOREVER), "rlk_thread_join");
    rlk_message_release(answer);
    rlk_message_release(question);
    rlk_thread_release(worker);
    rlk_right_release(right);
    rlk_item_release(port);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
