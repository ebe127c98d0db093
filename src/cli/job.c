/* SPDX-License-Identifier: MIT */
#include "cli/job.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"

enum { PAYLOAD_BYTES_MAX = 16 * 1024 * 1024, PUMP_ROUNDS = 16 };

void job_init(struct job *job)
{
    *job = (struct job){.in = -1, .out = -1, .err = -1};
    buffer_init(&job->payload, PAYLOAD_BYTES_MAX);
    buffer_init(&job->result, JOB_RESULT_BYTES_MAX);
}

static void shut(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void job_release(struct job *job)
{
    if (job->pid != 0 && !job->ended) {
        (void)kill(-job->pid, SIGKILL);
        (void)waitpid(job->pid, &job->wait_status, 0);
    }
    shut(&job->in);
    shut(&job->out);
    shut(&job->err);
    buffer_release(&job->payload);
    buffer_release(&job->result);
    job_init(job);
}

/* ---- start */

struct pipes {
    int in[2];
    int out[2];
    int err[2];
};

static void close_pipes(struct pipes *pipes)
{
    for (size_t i = 0; i < 2; i++) {
        shut(&pipes->in[i]);
        shut(&pipes->out[i]);
        shut(&pipes->err[i]);
    }
}

/* Only our ends do not wait: O_NONBLOCK is a matter of the end, and the command's own end has to
 * behave as commands expect. */
static int open_pipes(struct pipes *pipes, bool wants_result)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(pipes->in, O_CLOEXEC) != 0 || pipe2(pipes->err, O_CLOEXEC) != 0 ||
        (wants_result && pipe2(pipes->out, O_CLOEXEC) != 0)) {
        int problem = errno;
        close_pipes(pipes);
        return problem;
    }
    (void)fcntl(pipes->in[1], F_SETFL, O_NONBLOCK);
    (void)fcntl(pipes->err[0], F_SETFL, O_NONBLOCK);
    if (wants_result)
        (void)fcntl(pipes->out[0], F_SETFL, O_NONBLOCK);
    return 0;
}

int job_spawn(posix_spawn_file_actions_t *actions, char *const *command, char *const *environment,
              pid_t *ret_pid)
{
    posix_spawnattr_t how;
    sigset_t none;
    sigset_t standard;
    (void)sigemptyset(&none);
    (void)sigfillset(&standard);
    (void)posix_spawnattr_init(&how);
    (void)posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                             POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawnattr_setpgroup(&how, 0);
    (void)posix_spawnattr_setsigmask(&how, &none);
    (void)posix_spawnattr_setsigdefault(&how, &standard);
    (void)posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    int problem = posix_spawnp(ret_pid, command[0], actions, &how, command, environment);
    (void)posix_spawn_file_actions_destroy(actions);
    (void)posix_spawnattr_destroy(&how);
    return problem;
}

static int spawn(const struct pipes *pipes, char *const *command, char *const *environment,
                 pid_t *ret_pid)
{
    posix_spawn_file_actions_t files;
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawn_file_actions_adddup2(&files, pipes->in[0], STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&files, pipes->err[1], STDERR_FILENO);
    if (pipes->out[1] >= 0)
        (void)posix_spawn_file_actions_adddup2(&files, pipes->out[1], STDOUT_FILENO);
    return job_spawn(&files, command, environment, ret_pid);
}

int job_start(struct job *job, char *const *command, char *const *environment, struct bytes payload,
              bool wants_result)
{
    struct pipes pipes;
    assert(job->pid == 0);
    buffer_append(&job->payload, payload.at, payload.size);
    if (buffer_status(&job->payload) != TOCSIN_OK)
        return ENOMEM;
    int problem = open_pipes(&pipes, wants_result);
    if (problem != 0)
        return problem;
    problem = spawn(&pipes, command, environment, &job->pid);
    if (problem == 0) {
        job->in = pipes.in[1];
        job->out = pipes.out[0];
        job->err = pipes.err[0];
        pipes.in[1] = pipes.out[0] = pipes.err[0] = -1;
    } else {
        job->pid = 0;
    }
    close_pipes(&pipes);
    return problem;
}

char **job_environment(char *const *variables, size_t count)
{
    size_t ours = 0;
    size_t used = 0;
    while (environ[ours] != NULL)
        ours++;
    char **all = calloc(ours + count + 1, sizeof *all);
    if (all == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        all[used++] = variables[i];
    for (size_t i = 0; i < ours; i++) {
        bool instead = false;
        for (size_t v = 0; v < count; v++) {
            size_t name = strcspn(variables[v], "=") + 1;
            instead = instead || strncmp(environ[i], variables[v], name) == 0;
        }
        if (!instead)
            all[used++] = environ[i];
    }
    return all;
}

/* ---- while it runs */

size_t job_fds(const struct job *job, struct pollfd ret_fds[JOB_FDS])
{
    size_t count = 0;
    if (job->in >= 0)
        ret_fds[count++] = (struct pollfd){.fd = job->in, .events = POLLOUT};
    if (job->out >= 0)
        ret_fds[count++] = (struct pollfd){.fd = job->out, .events = POLLIN};
    if (job->err >= 0)
        ret_fds[count++] = (struct pollfd){.fd = job->err, .events = POLLIN};
    return count;
}

static void feed(struct job *job)
{
    while (job->in >= 0) {
        size_t left = job->payload.size - job->written;
        ssize_t wrote = left > 0 ? write(job->in, job->payload.data + job->written, left) : 0;
        if (wrote < 0 && errno == EAGAIN)
            return;
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote > 0)
            job->written += (size_t)wrote;
        if (wrote <= 0 || job->written == job->payload.size)
            shut(&job->in); /* all of it, or it does not want to read it */
    }
}

static void take_result(struct job *job, const char *bytes, size_t size)
{
    buffer_append(&job->result, bytes, size);
    job->result_cut = job->result_cut || buffer_status(&job->result) != TOCSIN_OK;
}

static void take_error(struct job *job, const char *bytes, size_t size)
{
    (void)fwrite(bytes, 1, size, stderr);
    if (size >= sizeof job->tail) {
        memcpy(job->tail, bytes + size - sizeof job->tail, sizeof job->tail);
        job->tail_size = sizeof job->tail;
        return;
    }
    size_t over =
        job->tail_size + size > sizeof job->tail ? job->tail_size + size - sizeof job->tail : 0;
    memmove(job->tail, job->tail + over, job->tail_size - over);
    job->tail_size -= over;
    memcpy(job->tail + job->tail_size, bytes, size);
    job->tail_size += size;
}

static void drain(struct job *job, int *fd, void (*take)(struct job *, const char *, size_t))
{
    char piece[16384];
    for (int round = 0; *fd >= 0 && round < PUMP_ROUNDS; round++) {
        ssize_t got = read(*fd, piece, sizeof piece);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got < 0 && errno == EINTR)
            continue;
        if (got > 0)
            take(job, piece, (size_t)got);
        else
            shut(fd);
    }
}

void job_pump(struct job *job)
{
    if (job->pid == 0 || job->ended)
        return;
    /* First the end, then what it left in the pipes: so nothing of that is missed. What its own
     * children write later is not waited for. */
    pid_t gone = waitpid(job->pid, &job->wait_status, WNOHANG);
    job->ended = gone == job->pid;
    feed(job);
    drain(job, &job->out, take_result);
    drain(job, &job->err, take_error);
    if (!job->ended && job->kill_us != 0 && clock_now_us() >= job->kill_us) {
        (void)kill(-job->pid, SIGKILL);
        job->kill_us = UINT64_MAX;
    }
}

void job_end(struct job *job, uint64_t now_us)
{
    if (job->pid == 0 || job->ended || job->kill_us != 0)
        return;
    (void)kill(-job->pid, SIGTERM);
    job->kill_us = now_us + (uint64_t)JOB_KILL_AFTER_MS * 1000;
}

/* ---- how it ended */

bool job_succeeded(const struct job *job)
{
    return job->ended && WIFEXITED(job->wait_status) && WEXITSTATUS(job->wait_status) == 0;
}

void job_error(const struct job *job, char *ret_text, size_t room)
{
    size_t size = job->tail_size;
    int used = WIFSIGNALED(job->wait_status)
                   ? snprintf(ret_text, room, "signal %d", WTERMSIG(job->wait_status))
                   : snprintf(ret_text, room, "exit %d", WEXITSTATUS(job->wait_status));
    while (size > 0 && (job->tail[size - 1] == '\n' || job->tail[size - 1] == '\r'))
        size--;
    /* Whole lines, unless one alone is too long. */
    size_t keep = room > (size_t)used + 3 ? room - (size_t)used - 3 : 0;
    size_t from = size > keep ? size - keep : 0;
    if (from > 0 || job->tail_size == sizeof job->tail) {
        const char *line = memchr(job->tail + from, '\n', size - from);
        from = line != NULL ? (size_t)(line - job->tail) + 1 : from;
    }
    if (size > from)
        (void)snprintf(ret_text + used, room - (size_t)used, ": %.*s", (int)(size - from),
                       job->tail + from);
}
