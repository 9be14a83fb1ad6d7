/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the workload between the marks of the whole command.
 *
 * The child is made by vfork(), so that copying the agent's page tables is not part of what is
 * measured.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"
#include "profdiff.h"
#include "run.h"
#include "state.h"

#ifdef PROFDIFF_NO_MARKS_
#error "no marks for this architecture"
#endif
#define COMMAND_START() PROFDIFF_MARK_("3")
#define COMMAND_STOP() PROFDIFF_MARK_("4")
/* Another copy of the command is about to start. */
#define COMMAND_COPY() PROFDIFF_MARK_("6")

char **read_arguments(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) || st.st_size == 0)
		fail(path);
	char *text = malloc(st.st_size);
	char **arguments = calloc(st.st_size + 1, sizeof(*arguments));
	if (!text || !arguments || read(fd, text, st.st_size) != st.st_size ||
	    text[st.st_size - 1] != '\0')
		fail(path);
	close(fd);
	size_t n = 0;
	for (char *at = text; at < text + st.st_size; at += strlen(at) + 1)
		arguments[n++] = at;
	return arguments;
}

void take_environment(const char *path)
{
	char beside[4096];
	const char *slash = strrchr(path, '/');
	snprintf(beside, sizeof(beside), "%.*senvironment", slash ? (int)(slash + 1 - path) : 0, path);
	if (access(beside, F_OK))
		return;
	for (char **at = read_arguments(beside); *at; at++)
		if (putenv(*at))
			fail(beside);
}

static long long nanoseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long microseconds(struct timeval time)
{
	return time.tv_sec * 1000000LL + time.tv_usec;
}

/* ``exec_error``, ``pin_error``: why it was not executed, and why not on a CPU of its own. */
struct copy {
	char **arguments;
	pid_t pid;
	int status;
	volatile int exec_error, pin_error;
};

static int pin(int cpu)
{
	cpu_set_t own;
	CPU_ZERO(&own);
	CPU_SET(cpu, &own);
	return sched_setaffinity(0, sizeof(own), &own);
}

static void start(struct copy *copy, int cpu, int traced)
{
	copy->exec_error = copy->pin_error = 0;
	copy->pid = vfork();
	if (copy->pid == 0) {
		if (cpu >= 0 && pin(cpu)) {
			copy->pin_error = errno;
			_exit(125);
		}
		if (traced)
			ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(copy->arguments[0], copy->arguments);
		copy->exec_error = errno;
		_exit(127);
	}
}

static void wait_for(struct copy *copy)
{
	pid_t waited = copy->pid;
	if (waited > 0)
		do
			waited = waitpid(copy->pid, &copy->status, 0);
		while (waited < 0 && errno == EINTR);
	if (waited < 0)
		fail("cannot start the workload");
}

/* The processes of the workload stop behind exec. What is arranged there is not measured. */
static void arrange(struct copy *copies, long count, const struct state *state)
{
	for (long n = 0; n < count; n++)
		wait_for(&copies[n]);
	COMMAND_STOP();
	for (long n = 0; n < count; n++)
		if (WIFSTOPPED(copies[n].status))
			map_beside(copies[n].pid, state);
	COMMAND_START();
	for (long n = 0; n < count; n++)
		if (WIFSTOPPED(copies[n].status) && ptrace(PTRACE_DETACH, copies[n].pid, 0, 0))
			fail("ptrace");
}

/* Says how the workload ended: as its first copy that did not end well. Returns whether all did. */
static int tell_status(FILE *file, const struct copy *copies, long count)
{
	const struct copy *told = copies;
	for (long n = 0; n < count && told->status == 0; n++)
		told = &copies[n];
	rewind(file);
	if (told->pin_error)
		fprintf(stderr, "profdiff agent: no CPU for copy %ld: %s\n", (long)(told - copies),
			strerror(told->pin_error));
	if (told->exec_error)
		fprintf(file, "exec %s\n", strerror(told->exec_error));
	else if (WIFSIGNALED(told->status))
		fprintf(file, "signal %d\n", WTERMSIG(told->status));
	else
		fprintf(file, "exit %d\n", WEXITSTATUS(told->status));
	return told->status == 0;
}

/* Returns whether the workload ended well; in a varied ``state`` if there is one. */
static int run_once(struct copy *copies, long count, FILE *status_file, FILE *usage_file,
		    const struct state *state)
{
	struct rusage before, after;
	getrusage(RUSAGE_CHILDREN, &before);
	long long start_time = nanoseconds();

	COMMAND_START();
	for (long n = 1; n < count; n++)
		COMMAND_COPY();
	for (long n = 0; n < count; n++)
		start(&copies[n], count > 1 ? n : -1, state != NULL);
	if (state)
		arrange(copies, count, state);
	for (long n = 0; n < count; n++)
		if (!state || WIFSTOPPED(copies[n].status))
			wait_for(&copies[n]);
	COMMAND_STOP();

	long long wall = nanoseconds() - start_time;
	getrusage(RUSAGE_CHILDREN, &after);
	struct stat output;
	fprintf(usage_file,
		"wall_ns %lld user_us %lld system_us %lld minor_faults %ld major_faults %ld "
		"voluntary_switches %ld involuntary_switches %ld stdout_end %lld\n",
		wall, microseconds(after.ru_utime) - microseconds(before.ru_utime),
		microseconds(after.ru_stime) - microseconds(before.ru_stime),
		after.ru_minflt - before.ru_minflt, after.ru_majflt - before.ru_majflt,
		after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw,
		fstat(1, &output) ? 0LL : (long long)output.st_size);
	return tell_status(status_file, copies, count);
}

/* The command in the file ``path``, and those of further copies beside it. */
static struct copy *read_copies(const char *path, long *count)
{
	char further[4096];
	struct copy *copies = NULL;
	snprintf(further, sizeof(further), "%s", path);
	*count = 0;
	do {
		copies = realloc(copies, (*count + 1) * sizeof(*copies));
		if (!copies)
			fail("realloc");
		copies[*count].arguments = read_arguments(further);
		snprintf(further, sizeof(further), "%s.%ld", path, ++*count);
	} while (!access(further, F_OK));
	return copies;
}

int run(const char *argv_path, const char *status_path, const char *usage_path, long times,
	       const char *state_path)
{
	struct state state;
	long count;
	take_environment(argv_path);
	struct copy *copies = read_copies(argv_path, &count);
	/* Opened beforehand: creating them is not part of the measured command. */
	FILE *status_file = fopen(status_path, "w"), *usage_file = fopen(usage_path, "w");
	if (!status_file || !usage_file)
		fail(status_path);
	if (state_path) {
		read_state(state_path, &state);
		prepare_state(&state);
	}
	while (times-- > 0 &&
	       run_once(copies, count, status_file, usage_file, state_path ? &state : NULL))
		;
	return fclose(status_file) || fclose(usage_file) ? 125 : 0;
}

/* A file of a folder, by its path, which the next call overwrites. */
static const char *in(const char *folder, const char *name)
{
	static char path[4096];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_all(int fd, const char *data, ssize_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);
		if (n <= 0)
			fail("write");
		data += n;
		size -= n;
	}
}

/* The kernel's own counters, which /proc tells (Documentation/filesystems/proc.rst). */
static void keep_vmstat(const char *path)
{
	static char text[1 << 16];
	int from = open("/proc/vmstat", O_RDONLY), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (from < 0 || to < 0)
		fail(path);
	for (ssize_t n; (n = read(from, text, sizeof(text))) > 0;)
		write_all(to, text, n);
	close(from);
	close(to);
}

static void redirect(int fd, const char *path, int flags)
{
	int opened = open(path, flags, 0644);
	if (opened < 0 || dup2(opened, fd) < 0)
		fail(path);
	close(opened);
}

int collect(const char *folder, const char *out)
{
	char argv[4096], state[4096], status[4096], usage[4096], times[32] = "";
	snprintf(argv, sizeof(argv), "%s/argv", folder);
	snprintf(state, sizeof(state), "%s/varied-state", folder);
	snprintf(status, sizeof(status), "%s/status", out);
	snprintf(usage, sizeof(usage), "%s/usage", out);
	redirect(0, "/dev/null", O_RDONLY);
	redirect(1, in(out, "stdout"), O_WRONLY | O_CREAT | O_TRUNC);
	redirect(2, in(out, "stderr"), O_WRONLY | O_CREAT | O_TRUNC);
	int fd = open(in(folder, "boot-runs"), O_RDONLY);
	if (fd < 0 || read(fd, times, sizeof(times) - 1) < 0)
		fail("boot-runs");
	close(fd);
	keep_vmstat(in(out, "vmstat-before"));
	int failed = run(argv, status, usage, atol(times), access(state, F_OK) ? NULL : state);
	keep_vmstat(in(out, "vmstat-after"));
	return failed;
}
