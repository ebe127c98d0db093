/* SPDX-License-Identifier: MIT */
#include "support/redis_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

enum { ARGUMENTS_MAX = 40, TRIES = 5, WAIT_S = 30, NAP_US = 1000 };

static _Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "redis_server: %s\n", what);
    abort();
}

static uint16_t free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0)
        give_up("no free port");
    (void)close(fd);
    return ntohs(at.sin_port);
}

static void become(const struct redis_server *server, const char *const arguments[])
{
    char port[8];
    (void)snprintf(port, sizeof port, "%u", (unsigned)server->port);
    const char *argv[ARGUMENTS_MAX] = {"redis-server",
                                       "--port",
                                       port,
                                       "--bind",
                                       "127.0.0.1",
                                       "--dir",
                                       NULL,
                                       "--save",
                                       "",
                                       "--appendonly",
                                       "no",
                                       "--enable-debug-command",
                                       "local",
                                       "--logfile",
                                       "log",
                                       "--repl-diskless-sync-delay",
                                       "0",
                                       "--daemonize",
                                       "no",
                                       "--loading-process-events-interval-bytes",
                                       "1024"};
    argv[6] = server->dir.path;
    size_t count = 21;
    for (size_t i = 0; arguments[i] != NULL && count + 1 < ARGUMENTS_MAX; i++)
        argv[count++] = arguments[i];
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDWR);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(null, STDERR_FILENO);
    if (chdir(server->dir.path) == 0)
        (void)execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static redisContext *open_context(const struct redis_server *server)
{
    struct timeval patience = {.tv_sec = WAIT_S};
    redisContext *context = redisConnectWithTimeout("127.0.0.1", server->port, patience);
    if (context != NULL && context->err != 0) {
        redisFree(context);
        return NULL;
    }
    if (context != NULL)
        (void)redisSetTimeout(context, patience);
    return context;
}

/* Another's server may have taken the port. One that wants a password first says no more than that. */
static bool is_ours(redisContext *context, const struct redis_server *server)
{
    char wanted[32];
    (void)snprintf(wanted, sizeof wanted, "process_id:%d\r\n", (int)server->pid);
    redisReply *reply = redisCommand(context, "INFO server");
    bool ours = reply != NULL && (reply->type == REDIS_REPLY_ERROR ||
                                  (reply->str != NULL && strstr(reply->str, wanted) != NULL));
    freeReplyObject(reply);
    return ours;
}

/* False when it has died: somebody else may have taken the port. */
static bool comes_up(struct redis_server *server)
{
    time_t until = time(NULL) + WAIT_S;
    while (time(NULL) < until) {
        redisContext *context = open_context(server);
        bool ours = context != NULL && is_ours(context, server);
        if (context != NULL)
            redisFree(context);
        if (ours)
            return waitpid(server->pid, NULL, WNOHANG) == 0;
        int status = 0;
        if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
            if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
                give_up("redis-server is not installed");
            return false;
        }
        (void)usleep(NAP_US);
    }
    give_up("redis-server does not come up");
}

static bool launch(struct redis_server *server, const char *const arguments[])
{
    server->pid = fork();
    if (server->pid < 0)
        give_up("fork failed");
    if (server->pid == 0)
        become(server, arguments);
    return comes_up(server);
}

void redis_server_start(struct redis_server *server, const char *const arguments[])
{
    temp_dir_init(&server->dir);
    for (unsigned i = 0; i < TRIES; i++) {
        server->port = free_port();
        if (launch(server, arguments))
            return;
    }
    give_up("redis-server does not start");
}

void redis_server_again(struct redis_server *server, const char *const arguments[])
{
    for (unsigned i = 0; i < TRIES; i++)
        if (launch(server, arguments))
            return;
    give_up("redis-server does not start again");
}

void redis_server_signal(const struct redis_server *server, int number)
{
    (void)kill(server->pid, number);
}

void redis_server_kill(struct redis_server *server)
{
    (void)kill(server->pid, SIGKILL);
    (void)waitpid(server->pid, NULL, 0);
}

void redis_server_stop(struct redis_server *server)
{
    redis_server_kill(server);
    temp_dir_release(&server->dir);
}

static long long number_of(const redisReply *reply)
{
    if (reply == NULL || reply->type == REDIS_REPLY_NIL || reply->type == REDIS_REPLY_ERROR)
        return -1;
    return reply->str != NULL ? strtoll(reply->str, NULL, 10) : reply->integer;
}

long long redis_server_ask(const struct redis_server *server, const char *password,
                           const char *command)
{
    redisContext *context = open_context(server);
    if (context == NULL)
        return -1;
    if (password != NULL)
        freeReplyObject(redisCommand(context, "AUTH %s", password));
    redisReply *reply = redisCommand(context, command);
    long long number = number_of(reply);
    if (reply != NULL)
        freeReplyObject(reply);
    redisFree(context);
    return number;
}

struct redisContext *redis_server_tell(const struct redis_server *server, const char *command)
{
    redisContext *context = open_context(server);
    int done = 0;
    if (context == NULL || redisAppendCommand(context, command) != REDIS_OK)
        give_up("cannot tell redis-server");
    while (done == 0)
        if (redisBufferWrite(context, &done) != REDIS_OK)
            give_up("cannot tell redis-server");
    return context;
}
