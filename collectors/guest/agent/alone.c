/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run in a restored machine without a shell: QEMU translates what executes for the first time, and
 * a shell with its programs is most of that in a short run.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "devices.h"
#include "fail.h"
#include "hold.h"
#include "observe.h"
#include "run.h"

#define FOLDER "/profdiff"
#define OUT FOLDER "/out"
/* As init.sh has it. */
#define CHANNEL 3
#define MOST_FILES 64

enum { MEASURE = 1, COLLECT };

static void tell_phase(uint64_t phase)
{
	size_t size;
	*(volatile uint64_t *)(map_shared(&size) + PHASE) = phase;
}

struct names {
	char text[1 << 16];
	size_t length; /* with what did not fit */
};

/* Of the kernel's modules: what else stands in a line (proc_modules(5)) changes as they are used. */
static void read_modules(struct names *names)
{
	char name[64];
	FILE *file = fopen("/proc/modules", "r");
	while (file && fscanf(file, "%63s%*[^\n]", name) == 1) {
		size_t length = strlen(name) + 1;
		if (names->length + length <= sizeof(names->text))
			memcpy(names->text + names->length, name, length);
		names->length += length;
	}
	if (file)
		fclose(file);
}

static struct names modules;

void note_modules(void)
{
	read_modules(&modules);
}

/* Or whether they are too many to be compared. */
static int modules_changed(void)
{
	static struct names now;
	read_modules(&now);
	return now.length > sizeof(now.text) || now.length != modules.length ||
	       memcmp(now.text, modules.text, now.length);
}

static void silence(void)
{
	int fd = open("/dev/null", O_RDWR);
	if (fd < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		fail("/dev/null");
	close(fd);
}

/* The names in this folder; NULL where they are too many. */
static char **names_here(void)
{
	static char *names[MOST_FILES + 1];
	int count = 0;
	DIR *folder = opendir(".");
	struct dirent *entry;
	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.') {
			if (count == MOST_FILES)
				return NULL;
			names[count++] = strdup(entry->d_name);
		}
	return names;
}

/*
 * The kernel's way down executes much for the first time. The watchdog resets a machine that runs,
 * and QEMU, which is told not to reboot, ends with it (saved_run.py).
 */
static void end_machine(void)
{
	arm_watchdog(1000);
	sleep(1);
	reboot(RB_AUTOBOOT);
}

/* Where it returns, init.sh goes on: behind the workload if that ran. */
int alone(void)
{
	if (!access(FOLDER "/collector.sh", F_OK))
		return 0;
	if (fcntl(CHANNEL, F_SETFD, FD_CLOEXEC) || chdir("/work"))
		fail("/work");
	/* As vary_python of init.sh. */
	if (!access(FOLDER "/varied", F_OK) && access(FOLDER "/varied-state", F_OK))
		unsetenv("PYTHONHASHSEED");
	tell_phase(MEASURE);
	collect(FOLDER, OUT);
	silence();
	if (!access(FOLDER "/observe", F_OK))
		observe(FOLDER "/argv", OUT "/observed");
	tell_phase(COLLECT);
	char **names = chdir(OUT) ? NULL : names_here();
	if (names && !modules_changed() && !hand_over(names))
		end_machine();
	return 0;
}
