/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's agent.
 *
 *   agent collect FOLDER OUT
 *                           what a collector without a script of its own does: run the workload
 *                           FOLDER/argv as often as FOLDER/boot-runs says, in the varied state
 *                           FOLDER/varied-state if there is one, and write to OUT what "run" does,
 *                           the workload's output, and /proc/vmstat before and after (run.c)
 *   agent run ARGV STATUS USAGE COUNT [STATE]
 *                           execute the command in ARGV (its arguments, each ended by a NUL) COUNT
 *                           times, write "exit N" or "signal N" of the last one, or of the first
 *                           that failed, to STATUS, and a line of "NAME VALUE ..." for each to
 *                           USAGE; in the varied state that STATE describes (state.c). With
 *                           ARGV.1, ARGV.2 ... these commands run at the same time, each on the
 *                           CPU of its number, ARGV on CPU 0
 *   agent observe ARGV OUT  execute it once more under ptrace(), and write to OUT how often it
 *                           made each system call, and the most huge pages that it had (observe.c)
 *   agent vdso              write this process's vDSO, an ELF file, to standard output
 *   agent random            declare the kernel's random numbers ready
 *   agent hold              wait where the machine is saved; a run that was restored goes on from
 *                           there: take what it brings, and begin at a fixed time (hold.c). Without
 *                           a collector's script, do the rest of the run, too (alone.c)
 *   agent hand-over NAME... hand files of this folder over as the result of such a run; status 1:
 *                           one is no file, or they are too large for that (hand_over.c)
 *   agent pack              write standard input to standard output as gzip does (pack.c)
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <linux/random.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>

#include "fail.h"
#include "hold.h"
#include "observe.h"
#include "pack.h"
#include "run.h"

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
	if (argc == 4 && !strcmp(argv[1], "collect"))
		return collect(argv[2], argv[3]);
	if ((argc == 6 || argc == 7) && !strcmp(argv[1], "run"))
		return run(argv[2], argv[3], argv[4], atol(argv[5]), argv[6]);
	if (argc == 4 && !strcmp(argv[1], "observe"))
		return observe(argv[2], argv[3]);
	if (argc == 2 && !strcmp(argv[1], "vdso"))
		return vdso();
	if (argc == 2 && !strcmp(argv[1], "random"))
		return declare_random();
	if (argc == 2 && !strcmp(argv[1], "hold")) {
		note_modules();
		return hold() || alone();
	}
	if (argc > 2 && !strcmp(argv[1], "hand-over"))
		return hand_over(argv + 2);
	if (argc == 2 && !strcmp(argv[1], "pack"))
		return pack();
	fprintf(stderr, "usage: agent collect FOLDER OUT | "
			"agent run ARGV STATUS USAGE COUNT [STATE] | "
			"agent observe ARGV OUT | agent vdso | agent random | agent hold | "
			"agent hand-over NAME... | agent pack\n");
	return 125;
}
