/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices of a machine that is restored, mapped through sysfs, which needs no driver. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "devices.h"
#include "fail.h"

#define DEVICES "/sys/bus/pci/devices"

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
int open_device(unsigned vendor, unsigned device, const char *name, int flags)
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

void *map_device(unsigned vendor, unsigned device, int bar, size_t *size)
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

uint8_t *map_shared(size_t *size)
{
	static uint8_t *mapped;
	static size_t mapped_size;
	if (!mapped)
		mapped = map_device(0x1af4, 0x1110, 2, &mapped_size);
	*size = mapped_size;
	return mapped;
}
