/* SPDX-License-Identifier: MIT */
/* The thread that turns the engine: it sleeps until something is due, ended, or ordered. */

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "embed/inside.h"
#include "embed/renewals.h"

#define SECOND INT64_C(1000000000)

void embed_wake(void *arg)
{
    struct tocsin_engine *engine = arg;
    uint64_t one = 1;
    ssize_t written = write(engine->event_fd, &one, sizeof one);
    (void)written; /* full: it is awake */
}

static void push_order(struct tocsin_engine *engine, struct order *order)
{
    order->next = NULL;
    *engine->orders_end = order;
    engine->orders_end = &order->next;
    embed_wake(engine);
}

void embed_order_leave(struct tocsin_engine *engine, struct order *order)
{
    (void)pthread_mutex_lock(&engine->lock);
    push_order(engine, order);
    (void)pthread_mutex_unlock(&engine->lock);
}

void embed_order(struct tocsin_engine *engine, struct order *order)
{
    (void)pthread_mutex_lock(&engine->lock);
    push_order(engine, order);
    while (!order->done)
        (void)pthread_cond_wait(&engine->changed, &engine->lock);
    (void)pthread_mutex_unlock(&engine->lock);
}

void embed_order_done(struct tocsin_engine *engine, struct order *order)
{
    (void)pthread_mutex_lock(&engine->lock);
    order->done = true;
    (void)pthread_cond_broadcast(&engine->changed);
    (void)pthread_mutex_unlock(&engine->lock);
}

static struct order *take_orders(struct tocsin_engine *engine, bool *ret_stop)
{
    (void)pthread_mutex_lock(&engine->lock);
    struct order *orders = engine->orders;
    engine->orders = NULL;
    engine->orders_end = &engine->orders;
    *ret_stop = engine->stop;
    (void)pthread_mutex_unlock(&engine->lock);
    return orders;
}

static void set_timer(struct tocsin_engine *engine, struct elapsed_time wake)
{
    struct itimerspec spec = {0};
    if (wake.ns != INT64_MAX) {
        int64_t ns = wake.ns > 0 ? wake.ns : 1;
        spec.it_value.tv_sec = ns / SECOND;
        spec.it_value.tv_nsec = ns % SECOND;
    }
    (void)timerfd_settime(engine->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void sleep_till_woken(struct tocsin_engine *engine)
{
    struct pollfd fds[] = {{.fd = engine->event_fd, .events = POLLIN},
                           {.fd = engine->timer_fd, .events = POLLIN}};
    uint64_t count;
    (void)poll(fds, 2, -1);
    for (int i = 0; i < 2; i++) {
        if ((fds[i].revents & POLLIN) != 0) {
            ssize_t size = read(fds[i].fd, &count, sizeof count);
            (void)size;
        }
    }
}

void *engine_main(void *arg)
{
    struct tocsin_engine *engine = arg;
    for (;;) {
        bool stop;
        struct elapsed_time wake;
        struct order *order = take_orders(engine, &stop);
        if (stop)
            return NULL;
        while (order != NULL) {
            struct order *next = order->next;
            order->run(engine, order);
            order = next;
        }
        threads_take(engine->threads, engine->engine);
        workers_lease(engine);
        if (engine->renewals != NULL)
            embed_renewals_turn(engine->renewals);
        engine_turn(engine->engine, &wake);
        set_timer(engine, wake);
        sleep_till_woken(engine);
    }
}
