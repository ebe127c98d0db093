/* SPDX-License-Identifier: MIT */
#include "child.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

static char scratch[PATH_BYTES_MAX - 64];
static char filesystem[PATH_BYTES_MAX];
static pid_t measuring; /* the child of supervise, in its parent */

/* ---- the folder */

static const char *filesystem_name(long type)
{
    switch (type) {
    case EXT4_SUPER_MAGIC:
        return "ext4";
    case XFS_SUPER_MAGIC:
        return "xfs";
    case BTRFS_SUPER_MAGIC:
        return "btrfs";
    case OVERLAYFS_SUPER_MAGIC:
        return "overlayfs";
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
        return NULL;
    default:
        return "another filesystem";
    }
}

void scratch_open(void)
{
    const char *bases[] = {getenv("TMPDIR"), "/tmp", "build/bench"};
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        struct statfs about;
        if (bases[i] == NULL || bases[i][0] == '\0' || statfs(bases[i], &about) != 0)
            continue;
        const char *name = filesystem_name((long)about.f_type);
        if (name == NULL)
            continue;
        char real[PATH_BYTES_MAX * 16];
        if (realpath(bases[i], real) == NULL || strlen(real) + 32 > sizeof scratch)
            continue;
        snprintf(scratch, sizeof scratch, "%.100s/tocsin-bench-XXXXXX", real);
        if (mkdtemp(scratch) == NULL)
            continue;
        snprintf(filesystem, sizeof filesystem, "%s (%.100s)", name, bases[i]);
        return;
    }
    bench_die("no folder on a disk: set TMPDIR");
}

const char *scratch_path(void)
{
    return scratch;
}

const char *scratch_filesystem(void)
{
    return filesystem;
}

void scratch_folder(const char *name, char ret_path[PATH_BYTES_MAX])
{
    static unsigned number;
    snprintf(ret_path, PATH_BYTES_MAX, "%s/%.30s-%u", scratch, name, ++number);
    if (mkdir(ret_path, 0700) != 0)
        bench_die("cannot make %s: %s", ret_path, strerror(errno));
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

void scratch_remove(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void scratch_copy(const char *from, const char *to)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execlp("cp", "cp", "-a", from, to, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        bench_die("cannot copy %s", from);
    sync(); /* so that its writing back disturbs no measurement */
}

/* ---- who ends them */

static void pass_on(int number)
{
    kill(measuring, number);
}

void supervise(void)
{
    fflush(NULL);
    measuring = fork();
    if (measuring < 0)
        bench_die("fork: %s", strerror(errno));
    if (measuring == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGINT, SIG_DFL); /* a shell ignores it for what runs in its background */
        return;
    }
    struct sigaction action = {.sa_handler = pass_on};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    int status = 0;
    while (waitpid(measuring, &status, 0) < 0 && errno == EINTR)
        continue;
    scratch_remove(scratch);
    if (WIFSIGNALED(status))
        fprintf(stderr, "\nbench: ended by signal %d\n", WTERMSIG(status));
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static _Noreturn void become(const char *const argv[], int out, const char *log)
{
    int file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int nothing = open("/dev/null", O_RDONLY);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0); /* a Ctrl-C is ours, not its */
    signal(SIGPIPE, SIG_DFL);
    dup2(nothing, STDIN_FILENO);
    dup2(out >= 0 ? out : file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    char *args[CHILD_ARGS_MAX] = {NULL};
    for (size_t i = 0; argv[i] != NULL && i + 1 < CHILD_ARGS_MAX; i++)
        args[i] = strdup(argv[i]);
    if (args[0] != NULL)
        execvp(args[0], args);
    _exit(127);
}

void child_start(struct child *child, const char *const argv[], const char *folder, bool read_out)
{
    int ends[2] = {-1, -1};
    *child = (struct child){.out = -1};
    snprintf(child->log, sizeof child->log, "%.200s.log", folder);
    if (read_out && pipe2(ends, O_CLOEXEC) != 0)
        bench_die("pipe: %s", strerror(errno));
    fflush(NULL);
    child->pid = fork();
    if (child->pid < 0)
        bench_die("fork: %s", strerror(errno));
    if (child->pid == 0)
        become(argv, ends[1], child->log);
    if (read_out) {
        close(ends[1]);
        child->out = ends[0];
    }
}

bool child_lives(struct child *child)
{
    if (child->pid > 0 && waitpid(child->pid, NULL, WNOHANG) == child->pid)
        child->pid = 0;
    return child->pid > 0;
}

void child_kill(struct child *child)
{
    if (child->pid > 0) {
        kill(child->pid, SIGKILL);
        waitpid(child->pid, NULL, 0);
    }
    if (child->out >= 0)
        close(child->out);
    unlink(child->log);
    child->pid = 0;
    child->out = -1;
}

void child_failed(const struct child *child, const char *what)
{
    char tail[2048];
    FILE *log = fopen(child->log, "r");
    if (log != NULL) {
        if (fseek(log, -(long)(sizeof tail - 1), SEEK_END) != 0)
            rewind(log);
        size_t size = fread(tail, 1, sizeof tail - 1, log);
        fclose(log);
        fprintf(stderr, "\n%.*s", (int)size, tail);
    }
    bench_die("%s", what);
}

size_t child_rss_bytes(const struct child *child)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)child->pid);
    size_t bytes = bench_rss_read(path);
    if (bytes == 0)
        bench_die("cannot read %s", path);
    return bytes;
}

uint64_t child_cpu_ns(const struct child *child)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(child->pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        bench_die("a server's processor time cannot be read");
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* ---- ports */

static struct sockaddr_in address_of(unsigned short port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
}

unsigned short port_free(void)
{
    struct sockaddr_in address = address_of(0);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        bench_die("no free port: %s", strerror(errno));
    close(fd);
    return ntohs(address.sin_port);
}

int port_connect(unsigned short port)
{
    struct sockaddr_in address = address_of(port);
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        bench_die("socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}
