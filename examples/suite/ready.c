/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ready CALL FDS OPS: asks which of FDS eventfds can be read. One of them, the last, can.
 */
#include "variants.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>

#define MAX_FDS 512

static int n_fds, fds[MAX_FDS], epoll, extra;
static struct pollfd polled[MAX_FDS];

static void open_fds(void)
{
	n_fds = atoi(words[0]);
	if (n_fds < 1 || n_fds > MAX_FDS)
		usage("CALL FDS OPS");
	for (int i = 0; i < n_fds; i++) {
		fds[i] = must(eventfd(i == n_fds - 1, 0), "eventfd");
		polled[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	}
}

static void open_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	open_fds();
	epoll = must(epoll_create1(0), "epoll_create1");
	for (int i = 0; i < n_fds; i++)
		must(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event), "EPOLL_CTL_ADD");
	extra = must(eventfd(0, 0), "eventfd");
}

static void one(long ready, const char *what)
{
	if (must(ready, what) != 1)
		die(what);
}

static void op_poll(void)
{
	one(poll(polled, n_fds, -1), "poll");
}

static void op_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	for (int i = 0; i < n_fds; i++)
		FD_SET(fds[i], &set);
	one(select(fds[n_fds - 1] + 1, &set, NULL, NULL, NULL), "select");
}

static void op_wait(void)
{
	struct epoll_event events[8];

	one(epoll_wait(epoll, events, 8, -1), "epoll_wait");
}

static void op_add(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	must(epoll_ctl(epoll, EPOLL_CTL_ADD, extra, &event), "EPOLL_CTL_ADD");
	must(epoll_ctl(epoll, EPOLL_CTL_DEL, extra, NULL), "EPOLL_CTL_DEL");
}

static void op_modify(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	must(epoll_ctl(epoll, EPOLL_CTL_MOD, fds[0], &event), "EPOLL_CTL_MOD");
}

static void op_create(void)
{
	close(must(epoll_create1(0), "epoll_create1"));
}

static const struct variant variants[] = {
	{ "poll", open_fds, op_poll },
	{ "select", open_fds, op_select },
	{ "epoll_wait", open_epoll, op_wait },
	{ "epoll-add", open_epoll, op_add },
	{ "epoll-modify", open_epoll, op_modify },
	{ "epoll-create", NULL, op_create },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "CALL FDS OPS", argc, argv);
}
