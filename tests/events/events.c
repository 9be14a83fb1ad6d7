// One thing, so many times, and what the kernel's own counters say of it: events.c WHAT TIMES.
// A line for each counter: its name, and by how much it grew from mark to mark.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "profdiff.h"

enum { PAGE = 4096, ROOM = 1 << 16, MOST = 64 };

static int times;
static char *memory;
static int there[2], back[2];
static atomic_int turn, stop, ready;
static volatile sig_atomic_t caught;

struct counter {
    char name[32];
    long value;
};
static struct counter before[2 * MOST], after[2 * MOST];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set))
        die("sched_setaffinity");
}

static int cpus(void)
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static char text[ROOM];

static void slurp(const char *path)
{
    int file = open(path, O_RDONLY);
    ssize_t got, all = 0;

    if (file < 0)
        die(path);
    while ((got = read(file, text + all, sizeof(text) - 1 - (size_t)all)) > 0)
        all += got;
    close(file);
    text[all] = 0;
}

static int add(struct counter *all, int n, const char *prefix, const char *name, long value)
{
    snprintf(all[n].name, sizeof(all[n].name), "%s%s", prefix, name);
    all[n].value = value;
    return n + 1;
}

// Rows of /proc/interrupts and /proc/softirqs: a name, and a number for each vCPU.
static int rows(struct counter *all, int n, const char *prefix, const char *path)
{
    char *line, *rest = text;

    slurp(path);
    strsep(&rest, "\n");
    while ((line = strsep(&rest, "\n")) && *line) {
        char *name = line + strspn(line, " "), *at = strchr(name, ':');
        long sum = 0;

        if (!at)
            continue;
        *at++ = 0;
        for (int cpu = 0; cpu < cpus(); cpu++)
            sum += strtol(at, &at, 10);
        n = add(all, n, prefix, name, sum);
    }
    return n;
}

static int read_all(struct counter *all)
{
    struct rusage used;
    int n = rows(all, 0, "irq-", "/proc/interrupts");

    n = rows(all, n, "softirq-", "/proc/softirqs");
    getrusage(RUSAGE_SELF, &used);
    n = add(all, n, "own-", "minflt", used.ru_minflt);
    n = add(all, n, "own-", "nvcsw", used.ru_nvcsw);
    return add(all, n, "own-", "nivcsw", used.ru_nivcsw);
}

// Touch pages that have none yet: a fault each.
static void faults(void)
{
    for (int i = 0; i < times; i++)
        memory[(size_t)i * PAGE] = 1;
}

// Map 16 pages, touch one, and unmap them.
static void maps(void)
{
    for (int i = 0; i < times; i++) {
        char *mapped = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (mapped == MAP_FAILED)
            die("mmap");
        mapped[0] = 1;
        munmap(mapped, 16 * PAGE);
    }
}

static void count(int signal)
{
    (void)signal;
    caught++;
}

// Each raises a signal, of which the handler returns behind the instruction.
static void traps(void)
{
    for (int i = 0; i < times; i++)
        __asm__ volatile("int3");
}

static long futex(int how, int value)
{
    return syscall(SYS_futex, &turn, how, value, NULL, NULL, 0);
}

static void pass(int mine)
{
    while (atomic_load(&turn) % 2 != mine)
        futex(FUTEX_WAIT_PRIVATE, 1 - mine);
    atomic_store(&turn, 1 - mine);
    futex(FUTEX_WAKE_PRIVATE, 1);
}

static void *futex_partner(void *unused)
{
    pin(0);
    atomic_store(&ready, 1);
    for (int i = 0; i < times + 1; i++)
        pass(1);
    return unused;
}

// Two threads on one vCPU hand a turn to each other.
static void futexes(void)
{
    for (int i = 0; i < times; i++)
        pass(0);
}

static void *pipe_partner(void *unused)
{
    char byte;

    pin(0);
    while (read(there[0], &byte, 1) == 1)
        if (write(back[1], &byte, 1) != 1)
            die("write");
    return unused;
}

// A byte goes to a thread on the same vCPU and comes back.
static void pipes(void)
{
    char byte = 0;

    for (int i = 0; i < times; i++)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            die("pipe");
}

static void *spin(void *unused)
{
    pin(1);
    atomic_store(&ready, 1);
    while (!atomic_load(&stop))
        ;
    return unused;
}

// A thread that runs on the other vCPU has the page in its TLB, too.
static void unmaps(void)
{
    for (int i = 0; i < times; i++)
        if (madvise(memory + (size_t)i * PAGE, PAGE, MADV_DONTNEED))
            die("madvise");
}

static void start(void *(*what)(void *))
{
    pthread_t thread;

    atomic_store(&ready, 0);
    if (pthread_create(&thread, NULL, what, NULL))
        die("pthread_create");
}

static void await(void)
{
    while (!atomic_load(&ready))
        usleep(1000);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    void (*run)(void);
    int n, m;

    times = argc > 2 ? atoi(argv[2]) : 0;
    pin(0);
    memory = mmap(NULL, (size_t)(times + 1) * PAGE, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || pipe(there) || pipe(back))
        die("start");
    if (!strcmp(what, "faults"))
        run = faults;
    else if (!strcmp(what, "traps"))
        run = traps, signal(SIGTRAP, count), run(), caught = 0;
    else if (!strcmp(what, "maps"))
        run = maps, run();
    else if (!strcmp(what, "futexes")) {
        run = futexes;
        start(futex_partner);
        await();
        pass(0);
    } else if (!strcmp(what, "pipes")) {
        run = pipes;
        start(pipe_partner);
        times++, run(), times--;
    } else if (!strcmp(what, "unmaps")) {
        run = unmaps;
        memset(memory, 1, (size_t)(times + 1) * PAGE);
        start(spin);
        await();
    } else
        return 2;
    read_all(before);
    n = read_all(before);
    PROFDIFF_START();
    run();
    PROFDIFF_STOP();
    printf("own-signals %d\n", (int)caught);
    m = read_all(after);
    atomic_store(&stop, 1);
    for (int i = 0; i < n && n == m; i++)
        printf("%s %ld\n", before[i].name, after[i].value - before[i].value);
    return 0;
}
