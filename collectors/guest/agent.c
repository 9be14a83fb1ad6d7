/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's agent: runs the workload between the marks of the whole command.
 *
 *   agent run ARGV STATUS USAGE COUNT [STATE]
 *                           execute the command in ARGV (its arguments, each ended by a NUL) COUNT
 *                           times, write "exit N" or "signal N" of the last one, or of the first
 *                           that failed, to STATUS, and a line of "NAME VALUE ..." for each to
 *                           USAGE; in the varied state that STATE describes (state.c). With
 *                           ARGV.1, ARGV.2 ... these commands run at the same time, each on the
 *                           CPU of its number, ARGV on CPU 0
 *   agent observe ARGV OUT  execute it once more under ptrace(), and write to OUT how often it
 *                           made each system call, and the most huge pages that it had
 *   agent vdso              write this process's vDSO, an ELF file, to standard output
 *   agent random            declare the kernel's random numbers ready
 *   agent hold              wait where the machine is saved; a run that was restored goes on from
 *                           there: take what it brings, and begin at a fixed time (hold.c)
 *   agent hand-over NAME... hand files of this folder over as the result of such a run; status 1:
 *                           one is no file, or they are too large for that
 *   agent pack              write standard input to standard output as gzip does (pack.c)
 *
 * The child is made by vfork(), so that copying the agent's page tables is not part of what is
 * measured.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hold.h"
#include "pack.h"
#include "profdiff.h"
#include "state.h"

#ifdef PROFDIFF_NO_MARKS_
#error "no marks for this architecture"
#endif
#define COMMAND_START() PROFDIFF_MARK_("3")
#define COMMAND_STOP() PROFDIFF_MARK_("4")
/* Another copy of the command is about to start. */
#define COMMAND_COPY() PROFDIFF_MARK_("6")

static void fail(const char *what)
{
	fprintf(stderr, "profdiff agent: %s: %s\n", what, strerror(errno));
	exit(125);
}

static char **read_arguments(const char *path)
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

static int run(const char *argv_path, const char *status_path, const char *usage_path, long times,
	       const char *state_path)
{
	struct state state;
	long count;
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

/* More stops than these, and the rest runs freely: each is some ten thousand instructions. */
#define MAX_STOPS 200000
#define MAX_READS 2000
#define MAX_CALL 1024

static unsigned long calls[MAX_CALL];
static const char *const names[MAX_CALL] = {
/* Made from <asm/unistd.h> when the agent is compiled. */
#include "syscall-names.h"
};
static long most_huge, most_resident, reads;

/* The process's memory while it still has it (Documentation/filesystems/proc.rst). */
static void read_memory(pid_t pid)
{
	char path[64], line[256];
	long value, huge = 0;
	if (reads++ >= MAX_READS)
		return;
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	FILE *file = fopen(path, "r");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Rss: %ld", &value) == 1 && value > most_resident)
			most_resident = value;
		if (sscanf(line, "AnonHugePages: %ld", &value) == 1)
			huge = value;
	}
	fclose(file);
	if (huge > most_huge)
		most_huge = huge;
}

static int observe(const char *argv_path, const char *out_path)
{
	char **arguments = read_arguments(argv_path);
	FILE *out = fopen(out_path, "w");
	if (!out)
		fail(out_path);
	pid_t child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(126);
		raise(SIGSTOP);
		execvp(arguments[0], arguments);
		_exit(127);
	}
	int status;
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		fail("ptrace");
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT |
		       PTRACE_O_EXITKILL;
	if (ptrace(PTRACE_SETOPTIONS, child, 0, options))
		fail("ptrace");
	ptrace(PTRACE_SYSCALL, child, 0, 0);
	long stops = 0, processes = 0;
	pid_t pid;
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (!WIFSTOPPED(status)) {
			processes++;
			continue;
		}
		int signal = WSTOPSIG(status), event = status >> 16;
		if (signal == (SIGTRAP | 0x80)) {
			struct __ptrace_syscall_info info;
			stops++;
			/* Since Linux 5.3 (201766a20e30 "ptrace: add PTRACE_GET_SYSCALL_INFO request"). */
			if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0 &&
			    info.op == PTRACE_SYSCALL_INFO_ENTRY) {
				if (info.entry.nr < MAX_CALL)
					calls[info.entry.nr]++;
				if (info.entry.nr == SYS_munmap)
					read_memory(pid);
			}
			signal = 0;
		} else if (event) {
			if (event == PTRACE_EVENT_EXIT)
				read_memory(pid);
			signal = 0;
		} else if (signal == SIGSTOP || signal == SIGTRAP) {
			signal = 0;
		}
		ptrace(stops < MAX_STOPS ? PTRACE_SYSCALL : PTRACE_CONT, pid, 0, signal);
	}
	fprintf(out, "complete %d\nprocesses %ld\nanon_huge_kib %ld\nresident_kib %ld\n",
		stops < MAX_STOPS, processes, most_huge, most_resident);
	for (int number = 0; number < MAX_CALL; number++)
		if (calls[number] && names[number])
			fprintf(out, "syscall_%s %lu\n", names[number], calls[number]);
		else if (calls[number])
			fprintf(out, "syscall_%d %lu\n", number, calls[number]);
	return fclose(out) ? 125 : 0;
}

/* The kernel maps the vDSO whole, its section headers last (arch/{x86/entry,arm64/kernel}/vdso). */
static int vdso(void)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	if (!header)
		return 0;
	size_t size = header->e_shoff + (size_t)header->e_shentsize * header->e_shnum;
	return fwrite(header, 1, size, stdout) == size && !fflush(stdout) ? 0 : 125;
}

/*
 * A guest has no source of entropy. The first getrandom() of a workload (Python's, OpenSSL's) would
 * wait for the timer's jitter and count a billion instructions of it; a machine is past that long
 * before (random(4), RNDADDENTROPY; drivers/char/random.c, try_to_generate_entropy()).
 */
static int declare_random(void)
{
	struct {
		struct rand_pool_info info;
		unsigned char bytes[64];
	} seed = { .info = { .entropy_count = 512, .buf_size = 64 } };
	int fd = open("/dev/urandom", O_WRONLY);
	return fd >= 0 && ioctl(fd, RNDADDENTROPY, &seed) == 0 ? 0 : 125;
}

int main(int argc, char **argv)
{
	if ((argc == 6 || argc == 7) && !strcmp(argv[1], "run"))
		return run(argv[2], argv[3], argv[4], atol(argv[5]), argv[6]);
	if (argc == 4 && !strcmp(argv[1], "observe"))
		return observe(argv[2], argv[3]);
	if (argc == 2 && !strcmp(argv[1], "vdso"))
		return vdso();
	if (argc == 2 && !strcmp(argv[1], "random"))
		return declare_random();
	if (argc == 2 && !strcmp(argv[1], "hold"))
		return hold();
	if (argc > 2 && !strcmp(argv[1], "hand-over"))
		return hand_over(argv + 2);
	if (argc == 2 && !strcmp(argv[1], "pack"))
		return pack();
	fprintf(stderr, "usage: agent run ARGV STATUS USAGE COUNT [STATE] | agent observe ARGV OUT | "
			"agent vdso | agent random | agent hold | "
			"agent hand-over NAME... | agent pack\n");
	return 125;
}
