/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * futex WHAT OPS: futexes that nobody waits for, and eventfds.
 */
#include "variants.h"

#include <linux/futex.h>
#include <sys/eventfd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

static uint32_t word, other, robust;
static int event;

static void open_event(void)
{
	event = must(eventfd(0, EFD_NONBLOCK), "eventfd");
}

static void op_wake(void)
{
	must(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1), "FUTEX_WAKE");
}

static void op_wake_shared(void)
{
	must(syscall(SYS_futex, &word, FUTEX_WAKE, 1), "FUTEX_WAKE");
}

static void op_wait(void)
{
	/* The word has another value. */
	if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL) != -1 || errno != EAGAIN)
		failed("FUTEX_WAIT");
}

static void op_requeue(void)
{
	must(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1, &other, 0),
	     "FUTEX_CMP_REQUEUE");
}

static void op_pi(void)
{
	must(syscall(SYS_futex, &robust, FUTEX_LOCK_PI_PRIVATE, 0, NULL), "FUTEX_LOCK_PI");
	must(syscall(SYS_futex, &robust, FUTEX_UNLOCK_PI_PRIVATE), "FUTEX_UNLOCK_PI");
}

static void op_waitv(void)
{
	struct futex_waitv waiters[2] = {
		{ .val = 1, .uaddr = (uintptr_t)&word, .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG },
		{ .val = 1, .uaddr = (uintptr_t)&other, .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG },
	};

	if (syscall(SYS_futex_waitv, waiters, 2, 0, NULL, CLOCK_MONOTONIC) != -1 || errno != EAGAIN)
		failed("futex_waitv");
}

static void op_eventfd(void)
{
	uint64_t value = 1;

	must(write(event, &value, sizeof(value)), "write");
	must(read(event, &value, sizeof(value)), "read");
}

static const struct variant variants[] = {
	{ "wake", NULL, op_wake },
	{ "wake-shared", NULL, op_wake_shared },
	{ "wait", NULL, op_wait },
	{ "requeue", NULL, op_requeue },
	{ "pi", NULL, op_pi },
	{ "waitv", NULL, op_waitv },
	{ "eventfd", open_event, op_eventfd },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT OPS", argc, argv);
}
