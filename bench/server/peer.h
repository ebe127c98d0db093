/* SPDX-License-Identifier: MIT */
/* peer.h - how is each server started, spoken to and understood?
 *
 * A peer is a kind of server; a server is one that runs. All are sent the same: an id, a due
 * time one to two hours ahead, and a payload of 100 bytes, on the same connections and at the
 * same depth. What differs is the bytes around them, which a recipe holds ready.
 */
#ifndef TOCSIN_BENCH_SERVER_PEER_H
#define TOCSIN_BENCH_SERVER_PEER_H

#include "child.h"
#include "load.h"

enum { PAYLOAD_BYTES = 100, ID_SHORT = 20, ID_LONG = 36, ID_MAX = 40, REDIS_SCRIPT_BYTES = 48 };

struct server {
    const struct peer *peer;
    struct child child;
    unsigned short port;
    char folder[PATH_BYTES_MAX];
    char script[REDIS_SCRIPT_BYTES]; /* Redis: the name of ours */
    double ready_s;                  /* from exec to the line that says so; Tocsin only */
    double serving_s;                /* from exec to the first good answer */
    uint64_t next_id;
    uint64_t random;
};

/* What a request looks like: a head, then so many units of the same size, in each of which
 * the digits of the id and of the due time are replaced. */
struct recipe {
    unsigned units;
    char head[256];
    size_t head_size;
    char unit[512];
    size_t unit_size;
    size_t id_at, id_bytes; /* no bytes: the server makes its own */
    size_t due_at;
    unsigned due_digits;
    answer_frame *frame;
};

enum wish {
    WISH_ONE,   /* one task a request */
    WISH_FULL,  /* many, each answered in full */
    WISH_SHORT, /* many, answered in short */
};

struct peer {
    const char *name;
    /* Lax: what is acknowledged need not be on the disk, to fill it in less time. */
    void (*launch)(struct server *server, bool lax);
    /* Whether it answers. */
    bool (*probe)(struct server *server);
    /* From now on everything is durable. */
    void (*harden)(struct server *server);
    void (*recipe)(const struct server *server, enum wish wish, unsigned units, size_t id_bytes,
                   struct recipe *ret_recipe);
};

extern const struct peer peer_tocsin, peer_redis, peer_beanstalkd;

/* The program that is measured. */
void tocsin_program(const char *path);

/* The name by which a server that is Redis calls this script from now on. */
void redis_load_script(const struct server *server, const char *script,
                       char ret_name[REDIS_SCRIPT_BYTES]);

/* In a new folder (NULL), or in one that was left behind. Waits until it answers. */
void server_start(struct server *server, const struct peer *peer, const char *folder, bool lax);
/* Ends it, leaving its folder. */
void server_kill(struct server *server);
/* Ends it and removes its folder. */
void server_drop(struct server *server);

/* Writes a request for the next ids, due one to two hours from now. */
size_t recipe_write(const struct recipe *recipe, struct server *server, char *out);
size_t recipe_bytes(const struct recipe *recipe);
/* The same, but each task due when the caller says. */
size_t recipe_write_due(const struct recipe *recipe, struct server *server, const int64_t *due_ms,
                        char *out);

/* The number that was made the id, and the other way round. */
void id_write(char *out, size_t bytes, uint64_t number);
uint64_t id_read(const char *text, size_t bytes);

/* HTTP: the answer with its body; good when the status is 200 or 201. */
struct answer http_frame(const char *in, size_t size, unsigned units);

/* Sends text on a connection of its own and reads until it ends, the room is full, or so many
 * bytes came. False: no connection, or no bytes. */
bool ask(unsigned short port, const char *text, size_t enough, char *ret_answer, size_t room);

#endif
