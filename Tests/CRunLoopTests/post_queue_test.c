#include "harness.h"
#include "post_queue.h"

#include <pthread.h>

typedef struct numbered {
    rlc_post_node node;
    int producer, number;
} numbered;

static void test_RLC_POST_1_order_and_wake(void) {
    rlc_post_queue queue = {0};
    numbered nodes[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    CHECK(!rlc_post_queue_has_posts(&queue));
    CHECK(rlc_post_queue_take_all(&queue) == NULL);
    CHECK_EQUAL(rlc_post_queue_push(&queue, &nodes[0].node), 1); /* empty: wake */
    CHECK_EQUAL(rlc_post_queue_push(&queue, &nodes[1].node), 0);
    CHECK_EQUAL(rlc_post_queue_push(&queue, &nodes[2].node), 0);
    CHECK(rlc_post_queue_has_posts(&queue));
    rlc_post_node *node = rlc_post_queue_take_all(&queue);
    CHECK_EQUAL(rlc_post_queue_push(&queue, &nodes[3].node), 1); /* waits for the next take */
    for (int i = 0; i < 3; i++, node = node->next)
        CHECK(node == &nodes[i].node);
    CHECK(node == NULL);
    CHECK(rlc_post_queue_take_all(&queue) == &nodes[3].node);
}

static void test_RLC_POST_2_closed_refuses(void) {
    rlc_post_queue queue = {0};
    rlc_post_node first = {0}, second = {0}, late = {.next = &first};
    CHECK_EQUAL(rlc_post_queue_push(&queue, &first), 1);
    CHECK_EQUAL(rlc_post_queue_push(&queue, &second), 0);
    rlc_post_node *rest = rlc_post_queue_close(&queue);
    CHECK(rest == &first && rest->next == &second && second.next == NULL);
    CHECK_EQUAL(rlc_post_queue_push(&queue, &late), -ESHUTDOWN);
    CHECK(late.next == &first); /* untouched: still the caller's */
    CHECK(!rlc_post_queue_has_posts(&queue));
    CHECK(rlc_post_queue_take_all(&queue) == NULL);
    CHECK(rlc_post_queue_close(&queue) == NULL);
}

/* ---- many producers against a consumer that closes in the middle: each node once, in its producer's order ---- */

enum { PRODUCERS = 3, PER_PRODUCER = 20000 };

static rlc_post_queue shared;
static numbered pool[PRODUCERS][PER_PRODUCER];
static int refused[PRODUCERS];

static void *produce(void *context) {
    int producer = (int)(intptr_t)context;
    for (int i = 0; i < PER_PRODUCER; i++) {
        pool[producer][i] = (numbered){.producer = producer, .number = i};
        if (rlc_post_queue_push(&shared, &pool[producer][i].node) == -ESHUTDOWN)
            refused[producer]++;
    }
    return NULL;
}

static int consume(rlc_post_node *chain, int next[]) {
    int count = 0;
    for (rlc_post_node *node = chain; node != NULL; node = node->next, count++) {
        numbered *item = (numbered *)node;
        CHECK_EQUAL(item->number, next[item->producer]);
        next[item->producer]++;
    }
    return count;
}

static void test_RLC_POST_3_producers_against_close(void) {
    pthread_t threads[PRODUCERS];
    int next[PRODUCERS] = {0}, taken = 0;
    for (int i = 0; i < PRODUCERS; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, produce, (void *)(intptr_t)i), 0);
    while (taken < PRODUCERS * PER_PRODUCER / 2)
        taken += consume(rlc_post_queue_take_all(&shared), next);
    taken += consume(rlc_post_queue_close(&shared), next);
    int total_refused = 0;
    for (int i = 0; i < PRODUCERS; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
        CHECK_EQUAL(next[i] + refused[i], PER_PRODUCER);
        total_refused += refused[i];
    }
    CHECK_EQUAL(taken + total_refused, PRODUCERS * PER_PRODUCER);
}

int main(void) {
    RUN(test_RLC_POST_1_order_and_wake);
    RUN(test_RLC_POST_2_closed_refuses);
    RUN(test_RLC_POST_3_producers_against_close);
    return 0;
}
