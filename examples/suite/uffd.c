/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uffd WAY STATE OPS: userfaultfd. An op is one page.
 *
 * copy, zeropage, continue, move: the ioctl() that fills a page. protect: UFFDIO_WRITEPROTECT of a
 * page, and back. register: UFFDIO_REGISTER of a page, and UNREGISTER. fault: a thread touches the
 * page, and another one gets the message and copies a page there.
 */
#include "suite.h"

#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>

/* Since Linux 6.8. */
struct move {
	uint64_t dst, src, len, mode;
	int64_t moved;
};
#define MOVE _IOWR(UFFDIO, 0x05, struct move)
#ifndef UFFD_FEATURE_MOVE
#define UFFD_FEATURE_MOVE (1 << 16)
#endif

static const char words[] = "copy|zeropage|continue|move|protect|register|fault STATE OPS";
static int uffd;
static size_t page;
static char *source;

static void asks(unsigned long request, void *argument, const char *what)
{
	if (ioctl(uffd, request, argument))
		die_or_not_there(what);
}

static void set_up(const char *way)
{
	struct uffdio_api api = { .api = UFFD_API };

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0)
		die_or_not_there("userfaultfd");
	if (!strcmp(way, "move"))
		api.features = UFFD_FEATURE_MOVE;
	else if (!strcmp(way, "protect"))
		api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP;
	else if (!strcmp(way, "continue"))
		api.features = UFFD_FEATURE_MINOR_SHMEM;
	asks(UFFDIO_API, &api, "userfaultfd: this feature");
}

static void watch(char *at, size_t size, const char *way)
{
	struct uffdio_register range = { .range = { (uintptr_t)at, size } };

	range.mode = !strcmp(way, "protect")	? UFFDIO_REGISTER_MODE_WP
		     : !strcmp(way, "continue") ? UFFDIO_REGISTER_MODE_MINOR
						: UFFDIO_REGISTER_MODE_MISSING;
	asks(UFFDIO_REGISTER, &range, "UFFDIO_REGISTER");
}

static void copy(char *at)
{
	struct uffdio_copy one = { (uintptr_t)at, (uintptr_t)source, page, 0, 0 };

	asks(UFFDIO_COPY, &one, "UFFDIO_COPY");
}

static void *serve(void *unused)
{
	struct uffd_msg message;

	(void)unused;
	while (read(uffd, &message, sizeof(message)) == sizeof(message))
		copy((char *)(uintptr_t)message.arg.pagefault.address);
	return NULL;
}

static void fill(const char *way, char *at)
{
	struct uffdio_range range = { (uintptr_t)at, page };
	struct uffdio_zeropage zero = { range, 0, 0 };
	struct uffdio_continue next = { range, 0, 0 };
	struct uffdio_writeprotect protect = { range, UFFDIO_WRITEPROTECT_MODE_WP };
	struct move move = { (uintptr_t)at, (uintptr_t)source, page, 0, 0 };

	switch (*way == 'c' ? way[2] : *way) {
	case 'p': /* copy */
		if (*way == 'p') {
			asks(UFFDIO_WRITEPROTECT, &protect, "UFFDIO_WRITEPROTECT");
			protect.mode = 0;
			asks(UFFDIO_WRITEPROTECT, &protect, "UFFDIO_WRITEPROTECT");
		} else {
			copy(at);
		}
		break;
	case 'z':
		asks(UFFDIO_ZEROPAGE, &zero, "UFFDIO_ZEROPAGE");
		break;
	case 'n':
		asks(UFFDIO_CONTINUE, &next, "UFFDIO_CONTINUE");
		break;
	case 'm':
		asks(MOVE, &move, "UFFDIO_MOVE");
		source += page;
		break;
	case 'r':
		watch(at, page, way);
		asks(UFFDIO_UNREGISTER, &range, "UFFDIO_UNREGISTER");
		break;
	default:
		*(volatile char *)at = 1;
	}
}

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, words);
	const char *way = argv[1];
	size_t first, size;
	pthread_t server;
	char state[64], *at;

	if (!strstr(words, way) || strlen(way) < 4)
		usage(words);
	page = page_size();
	first = 512 * page;
	size = first + ops * page;
	set_up(way);
	snprintf(state, sizeof(state), "%s%s", argv[2],
		 !strcmp(way, "continue")  ? "-cached-empty"
		 : !strcmp(way, "protect") ? ""
					   : "-empty");
	at = state_map(state, size);
	source = state_map("anon", size);
	if (strcmp(way, "register"))
		watch(at, size, way);
	if (!strcmp(way, "fault") && pthread_create(&server, NULL, serve, NULL))
		die("pthread_create");
	for (size_t offset = 0; offset < size; offset += page) {
		if (offset == first)
			start();
		fill(way, at + offset);
	}
	stop();
	return 0;
}
