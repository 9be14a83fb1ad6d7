/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent in a machine that is restored: it waits where the machine is saved, takes what a run
 * brings, and hands over what the run leaves, through memory that it shares with the host.
 *
 * The shared memory is the second BAR of QEMU's ivshmem-plain (docs/specs/ivshmem-spec.rst). What
 * the host writes: struct request, at RECORDS the records, each a struct record, a path, and the
 * content of that file. What we write: struct answer at ANSWER, and in the upper half the result.
 *
 * A watchdog (QEMU's i6300esb) stops the machine while we sleep, so that no CPU is at work in the
 * state that is saved. Both devices are mapped through sysfs, no driver is needed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "architecture.h"
#include "hold.h"

#define DEVICES "/sys/bus/pci/devices"
#define REQUEST 0x31515252464450ULL
#define ANSWER_MAGIC 0x31534e41464450ULL
#define RECORDS 4096
#define ANSWER 2048
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
struct answer {
	uint64_t magic, length;
};

static void fail(const char *what)
{
	fprintf(stderr, "profdiff agent: %s: %s\n", what, strerror(errno));
	exit(125);
}

static unsigned number_in(const char *device, const char *name)
{
	char path[300], text[32] = "";
	snprintf(path, sizeof(path), DEVICES "/%s/%s", device, name);
	int fd = open(path, O_RDONLY);
	if (fd >= 0) {
		if (read(fd, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		close(fd);
	}
	return strtoul(text, NULL, 16);
}

/* Opens a file of the PCI device with these ids. */
static int open_device(unsigned vendor, unsigned device, const char *name, int flags)
{
	errno = ENODEV;
	DIR *folder = opendir(DEVICES);
	struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		if (number_in(entry->d_name, "vendor") != vendor ||
		    number_in(entry->d_name, "device") != device)
			continue;
		char path[300];
		snprintf(path, sizeof(path), DEVICES "/%s/%s", entry->d_name, name);
		int fd = open(path, flags);
		if (fd < 0)
			fail(path);
		closedir(folder);
		return fd;
	}
	fail(DEVICES);
	return -1;
}

/* The BARs of a device are small where they need not fill a page: "START END FLAGS" of each. */
static unsigned long start_of(unsigned vendor, unsigned device, int bar)
{
	FILE *file = fdopen(open_device(vendor, device, "resource", O_RDONLY), "r");
	unsigned long start = 0;
	for (int line = 0; file && line <= bar; line++)
		if (fscanf(file, "%lx %*x %*x", &start) != 1)
			fail("cannot read where a device of ours is");
	if (file)
		fclose(file);
	return start;
}

static void *map_device(unsigned vendor, unsigned device, int bar, size_t *size)
{
	int fd = open_device(vendor, device, "enable", O_WRONLY);
	if (write(fd, "1", 1) != 1)
		fail("cannot enable a device of ours");
	close(fd);
	char name[16];
	snprintf(name, sizeof(name), "resource%d", bar);
	fd = open_device(vendor, device, name, O_RDWR);
	struct stat st;
	if (fstat(fd, &st))
		fail(name);
	*size = st.st_size;
	uint8_t *mapped = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		fail("cannot map a device of ours");
	close(fd);
	return mapped + start_of(vendor, device, bar) % sysconf(_SC_PAGESIZE);
}

static uint8_t *map_shared(size_t *size)
{
	return map_device(0x1af4, 0x1110, 2, size);
}

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

/* Registers and units are those of Intel's 6300ESB, section 16. */
static void arm_watchdog(void)
{
	size_t size;
	volatile uint32_t *registers = map_device(0x8086, 0x25ab, 0, &size);
	int config = open_device(0x8086, 0x25ab, "config", O_RDWR);
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
	registers[1] = STOP_NS / 960;
	if (pwrite(config, &enable, sizeof(enable), 0x68) != sizeof(enable))
		fail("cannot start the watchdog");
	close(config);
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
		make_folders(path);
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, one.mode);
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
	arm_watchdog();
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

/* POSIX.1-2017, pax: ustar interchange format. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
	char link[100], magic[6], version[2], rest[247];
};

/* Appends a file of this folder to an archive; returns 0 where it is none or has no room. */
static int add_member(const char *name, uint8_t *archive, size_t *length, size_t room)
{
	struct header *header = (void *)(archive + *length);
	struct stat st;
	/* A FIFO would wait for somebody who writes. */
	int fd = open(name, O_RDONLY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		fail(name);
	size_t size = st.st_size, padded = (size + 511) / 512 * 512;
	size_t left = room - *length;
	if (!S_ISREG(st.st_mode) || strlen(name) >= sizeof(header->name) ||
	    left < sizeof(*header) || left - sizeof(*header) < padded)
		return 0;
	memset(header, 0, sizeof(*header));
	strcpy(header->name, name);
	strcpy(header->mode, "0000644");
	snprintf(header->size, sizeof(header->size), "%011zo", size);
	memcpy(header->magic, "ustar", 6);
	memcpy(header->version, "00", 2);
	header->type = '0';
	memset(header->checksum, ' ', sizeof(header->checksum));
	unsigned sum = 0;
	for (size_t i = 0; i < sizeof(*header); i++)
		sum += ((uint8_t *)header)[i];
	snprintf(header->checksum, sizeof(header->checksum), "%06o", sum);
	uint8_t *content = archive + *length + sizeof(*header);
	for (size_t done = 0; done < size;) {
		ssize_t n = read(fd, content + done, size - done);
		if (n <= 0)
			fail(name);
		done += n;
	}
	memset(content + size, 0, padded - size);
	close(fd);
	*length += sizeof(*header) + padded;
	return 1;
}

/* Returns 1 where it has no room or is not only files: it then has to go another way. */
int hand_over(char **names)
{
	size_t size;
	uint8_t *shared = map_shared(&size);
	size_t length = 0, room = size / 2;
	for (; *names; names++)
		if (!add_member(*names, shared + size / 2, &length, room))
			return 1;
	/* Two blocks of zeros end an archive. */
	if (room - length < 1024)
		return 1;
	memset(shared + size / 2 + length, 0, 1024);
	struct answer answer = { 0, length + 1024 };
	memcpy(shared + ANSWER, &answer, sizeof(answer));
	__sync_synchronize();
	*(volatile uint64_t *)(shared + ANSWER) = ANSWER_MAGIC;
	return 0;
}
