/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent in a machine that is restored: it waits where the machine is saved, and takes what a run
 * brings through memory that it shares with the host (devices.h).
 *
 * A watchdog (QEMU's i6300esb) stops the machine while we sleep, so that no CPU is at work in the
 * state that is saved.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/random.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "architecture.h"
#include "devices.h"
#include "fail.h"
#include "hold.h"

#define REQUEST 0x31515252464450ULL
#define SECOND 1000000000LL
/* Between arming the watchdog and its stop, and until we wake: no CPU has anything to do then. */
#define STOP_NS 50000000
#define SLEEP_NS 60000000

struct request {
	uint64_t magic, length; /* of all records, in bytes */
	uint64_t wake_ns;	/* when the run begins, after the sleep began */
	uint64_t varied;	/* whether it has random numbers of its own, from ... */
	uint64_t seed[4];
};
struct record {
	uint32_t mode, path_length;
	uint64_t size;
};

static long long now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

static void sleep_until(long long ns)
{
	struct timespec time = { ns / SECOND, ns % SECOND };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

#ifdef LOSES_TIMERS
/*
 * No timer wakes a machine that QEMU restores without them, and none may end before it goes on: the
 * kernel would wait for that one. The host sends a break to the channel instead (saved_run.py).
 */
static void wait_for_wake(long long start)
{
	char path[64] = "", one;
	FILE *file = fopen("/profdiff/channel", "r");
	(void)start;
	if (!file || fscanf(file, "%63s", path) != 1)
		fail("/profdiff/channel");
	fclose(file);
	int fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, &one, 1) < 0)
		fail(path);
	close(fd);
}
#else
static void wait_for_wake(long long start)
{
	sleep_until(start + SLEEP_NS);
}
#endif

/*
 * Registers and units are those of Intel's 6300ESB, section 16. QEMU resets it when it has stopped
 * the machine, so it is enabled each time.
 */
void arm_watchdog(long ns)
{
	static volatile uint32_t *registers;
	static int config;
	if (!registers) {
		size_t size;
		registers = map_device(0x8086, 0x25ab, 0, &size);
		config = open_device(0x8086, 0x25ab, "config", O_RDWR | O_CLOEXEC);
	}
	/* Microseconds, more exactly 960 ns. */
	uint16_t clock = 0x04;
	uint8_t enable = 0x02;
	if (pwrite(config, &clock, sizeof(clock), 0x60) != sizeof(clock))
		fail("cannot set the watchdog");
	/* The two stages, each behind what unlocks a register. */
	registers[3] = 0x80;
	registers[3] = 0x86;
	registers[0] = 1;
	registers[3] = 0x80;
	registers[3] = 0x86;
	registers[1] = ns / 960;
	if (pwrite(config, &enable, sizeof(enable), 0x68) != sizeof(enable))
		fail("cannot start the watchdog");
}

static void make_folders(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
}

static void unpack(const uint8_t *at, uint64_t length)
{
	const uint8_t *end = at + length;
	while (at < end) {
		struct record one;
		memcpy(&one, at, sizeof(one));
		at += sizeof(one);
		char *path = strndup((const char *)at, one.path_length);
		at += one.path_length;
		if (!path)
			fail("memory");
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, one.mode);
		if (fd < 0 && errno == ENOENT) {
			make_folders(path);
			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, one.mode);
		}
		if (fd < 0)
			fail(path);
		for (uint64_t done = 0; done < one.size;) {
			ssize_t n = write(fd, at + done, one.size - done);
			if (n <= 0)
				fail(path);
			done += n;
		}
		fchmod(fd, one.mode);
		close(fd);
		free(path);
		at += one.size;
	}
}

/* As a boot with other random numbers: random(4), Documentation/admin-guide/sysctl/kernel.rst. */
static void vary(const uint64_t *seed)
{
	struct {
		struct rand_pool_info info;
		uint64_t words[4];
	} more = { .info = { .entropy_count = 256, .buf_size = 32 } };
	memcpy(more.words, seed, sizeof(more.words));
	int fd = open("/dev/urandom", O_WRONLY);
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &more) || ioctl(fd, RNDRESEEDCRNG, 0))
		fail("cannot vary random numbers");
	close(fd);
	fd = open("/proc/sys/kernel/randomize_va_space", O_WRONLY);
	if (fd < 0 || write(fd, "2", 1) != 1)
		fail("cannot randomize addresses");
	close(fd);
}

int hold(void)
{
	size_t size;
	uint8_t *shared = map_shared(&size);
	struct request request;
	/* Its page is there before the machine is saved. */
	memset(&request, 0, sizeof(request));
	long long start = now();
	arm_watchdog(STOP_NS);
	wait_for_wake(start);
	memcpy(&request, shared, sizeof(request));
	errno = ENODATA;
	if (request.magic != REQUEST || request.length > size / 2 - RECORDS)
		fail("nothing was delivered");
	unpack(shared + RECORDS, request.length);
	if (request.varied)
		vary(request.seed);
	errno = ETIME;
	if (now() > start + (long long)request.wake_ns)
		fail("what was delivered took too long to unpack");
	sleep_until(start + request.wake_ns);
	return 0;
}
