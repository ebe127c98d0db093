/* SPDX-License-Identifier: MIT */
/* A stranger's C program: only what `make install` has put there. */
#include <tocsin/inbox.h>
#include <tocsin/memory.h>
#include <tocsin/status.h>
#include <tocsin/wheel.h>

#include <stdio.h>

int main(void)
{
    struct tocsin_wheel *wheel = NULL;
    struct tocsin_inbox *inbox = NULL;
    struct tocsin_why why;
    struct tocsin_timer timer, ticket;
    struct tocsin_due due[2];
    size_t count = 0;

    if (tocsin_wheel_create(NULL, &wheel, &why) != TOCSIN_OK ||
        tocsin_inbox_create(wheel, NULL, &inbox, &why) != TOCSIN_OK) {
        fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    if (tocsin_wheel_arm(wheel, 10, 1, &timer) != TOCSIN_OK ||
        tocsin_inbox_arm(inbox, 20, 2, &ticket) != TOCSIN_OK ||
        tocsin_inbox_drain(inbox, 0, NULL) != TOCSIN_OK ||
        tocsin_wheel_take(wheel, 30, 0, due, 2, &count) != TOCSIN_OK || count != 2 ||
        due[0].cookie != 1 || due[1].cookie != 2)
        return 1;
    if (tocsin_wheel_cancel(wheel, timer, NULL) != TOCSIN_STALE)
        return 1;
    tocsin_inbox_destroy(inbox);
    tocsin_wheel_destroy(wheel);
    puts("2 timers");
    return 0;
}
