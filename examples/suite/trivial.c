/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trivial CALL OPS: a system call that does next to nothing. getpid is the floor: what it costs to
 * enter the kernel and to leave it.
 */
#include "variants.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/utsname.h>

static struct rusage resources;
static struct rlimit64 limit;
static struct utsname uts;
static struct sysinfo info;
static struct tms times_buffer;
static cpu_set_t set;
static struct sched_param param;

static void op_getpid(void)
{
	syscall(SYS_getpid);
}

static void op_getppid(void)
{
	syscall(SYS_getppid);
}

static void op_gettid(void)
{
	syscall(SYS_gettid);
}

static void op_getuid(void)
{
	syscall(SYS_getuid);
}

static void op_setuid(void)
{
	must(syscall(SYS_setuid, 0), "setuid");
}

static void op_umask(void)
{
	syscall(SYS_umask, 022);
}

static void op_enosys(void)
{
	syscall(1023);
}

static void op_prctl(void)
{
	must(prctl(PR_SET_NAME, "trivial"), "prctl");
}

static void op_getrusage(void)
{
	must(syscall(SYS_getrusage, RUSAGE_SELF, &resources), "getrusage");
}

static void op_prlimit(void)
{
	must(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit), "prlimit64");
}

static void op_uname(void)
{
	must(syscall(SYS_uname, &uts), "uname");
}

static void op_sysinfo(void)
{
	must(syscall(SYS_sysinfo, &info), "sysinfo");
}

static void op_times(void)
{
	must(syscall(SYS_times, &times_buffer), "times");
}

static void op_sched_yield(void)
{
	must(syscall(SYS_sched_yield), "sched_yield");
}

static void op_getcpu(void)
{
	unsigned int cpu, node;

	must(syscall(SYS_getcpu, &cpu, &node, NULL), "getcpu");
}

static void op_sched_getaffinity(void)
{
	must(syscall(SYS_sched_getaffinity, 0, sizeof(set), &set), "sched_getaffinity");
}

static void op_sched_setaffinity(void)
{
	must(syscall(SYS_sched_setaffinity, 0, sizeof(set), &set), "sched_setaffinity");
}

static void op_sched_setscheduler(void)
{
	must(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &param), "sched_setscheduler");
}

static void op_getpriority(void)
{
	must(syscall(SYS_getpriority, PRIO_PROCESS, 0), "getpriority");
}

static void op_setpriority(void)
{
	must(syscall(SYS_setpriority, PRIO_PROCESS, 0, 0), "setpriority");
}

static void prepare_set(void)
{
	must(sched_getaffinity(0, sizeof(set), &set), "sched_getaffinity");
}

static const struct variant variants[] = {
	{ "getpid", NULL, op_getpid },
	{ "getppid", NULL, op_getppid },
	{ "gettid", NULL, op_gettid },
	{ "getuid", NULL, op_getuid },
	{ "setuid", NULL, op_setuid },
	{ "umask", NULL, op_umask },
	{ "enosys", NULL, op_enosys },
	{ "prctl", NULL, op_prctl },
	{ "getrusage", NULL, op_getrusage },
	{ "prlimit", NULL, op_prlimit },
	{ "uname", NULL, op_uname },
	{ "sysinfo", NULL, op_sysinfo },
	{ "times", NULL, op_times },
	{ "sched_yield", NULL, op_sched_yield },
	{ "getcpu", NULL, op_getcpu },
	{ "sched_getaffinity", NULL, op_sched_getaffinity },
	{ "sched_setaffinity", prepare_set, op_sched_setaffinity },
	{ "sched_setscheduler", NULL, op_sched_setscheduler },
	{ "getpriority", NULL, op_getpriority },
	{ "setpriority", NULL, op_setpriority },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "CALL OPS", argc, argv);
}
