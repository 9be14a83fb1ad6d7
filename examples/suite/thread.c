/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread HOW OPS: creates a thread that ends at once, and joins it.
 */
#include "variants.h"

#include <pthread.h>

static void *body(void *argument)
{
	return argument;
}

static void op_join(void)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, body, NULL);
	if (errno)
		die("pthread_create");
	errno = pthread_join(thread, NULL);
	if (errno)
		die("pthread_join");
}

static const struct variant variants[] = {
	{ "join", NULL, op_join },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "HOW OPS", argc, argv);
}
