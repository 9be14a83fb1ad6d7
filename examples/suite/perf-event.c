/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf-event WHAT OPS: a software event of perf (context switches of this process), opened and
 * closed, or read.
 */
#include "variants.h"

#include <linux/perf_event.h>

static int event;

static int open_event(void)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
	};

	return must(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0), "perf_event_open");
}

static void keep_open(void)
{
	event = open_event();
}

static void op_open(void)
{
	close(open_event());
}

static void op_read(void)
{
	uint64_t count;

	must(read(event, &count, sizeof(count)), "read of an event");
}

static const struct variant variants[] = {
	{ "open", NULL, op_open },
	{ "read", keep_open, op_read },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT OPS", argc, argv);
}
