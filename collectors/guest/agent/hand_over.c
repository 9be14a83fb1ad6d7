/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hands over what a run left, through memory that it shares with the host: hold.c. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "devices.h"
#include "fail.h"
#include "hold.h"

#define ANSWER_MAGIC 0x31534e41464450ULL

struct answer {
	uint64_t magic, length;
};

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
