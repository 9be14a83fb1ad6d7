/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timer WHAT OPS: timers, and sleep. The timers that are set lie an hour ahead, except for those of
 * expire and of the sleeps.
 */
#include "variants.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/timerfd.h>

static const struct timespec hour = { 3600, 0 };
static int fd;
static timer_t timer;

static void open_timerfd(void)
{
	fd = must(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create");
}

static void make_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };

	must(timer_create(CLOCK_MONOTONIC, &event, &timer), "timer_create");
}

static void op_timerfd_create(void)
{
	close(must(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create"));
}

static void op_timerfd_set(void)
{
	struct itimerspec at = { .it_value = hour };

	must(timerfd_settime(fd, 0, &at, NULL), "timerfd_settime");
}

static void op_timerfd_expire(void)
{
	struct itimerspec at = { .it_value = { 0, 1 } };
	uint64_t expired;

	must(timerfd_settime(fd, 0, &at, NULL), "timerfd_settime");
	must(read(fd, &expired, sizeof(expired)), "read");
}

static void op_timer_create(void)
{
	make_timer();
	must(timer_delete(timer), "timer_delete");
}

static void op_timer_set(void)
{
	struct itimerspec at = { .it_value = hour };

	must(timer_settime(timer, 0, &at, NULL), "timer_settime");
}

static void op_setitimer(void)
{
	struct itimerval at = { .it_value = { 3600, 0 } };

	must(setitimer(ITIMER_REAL, &at, NULL), "setitimer");
}

static void op_sleep_0(void)
{
	struct timespec rest = { 0, 0 };

	must(nanosleep(&rest, NULL), "nanosleep");
}

static void op_sleep_1(void)
{
	struct timespec rest = { 0, 1 };

	must(nanosleep(&rest, NULL), "nanosleep");
}

static void op_sleep_past(void)
{
	struct timespec past = { 1, 0 };

	errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL);
	if (errno)
		failed("clock_nanosleep");
}

static const struct variant variants[] = {
	{ "timerfd-create", NULL, op_timerfd_create },
	{ "timerfd-set", open_timerfd, op_timerfd_set },
	{ "timerfd-expire", open_timerfd, op_timerfd_expire },
	{ "timer-create", NULL, op_timer_create },
	{ "timer-set", make_timer, op_timer_set },
	{ "setitimer", NULL, op_setitimer },
	{ "sleep-0", NULL, op_sleep_0 },
	{ "sleep-1", NULL, op_sleep_1 },
	{ "sleep-past", NULL, op_sleep_past },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT OPS", argc, argv);
}
