/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * namespace CALL KIND OPS: unshare() leaves the present namespace for a new one, setns() goes to
 * and fro between two.
 */
#include "variants.h"

static const struct {
	const char *name;
	int flag;
} kinds[] = {
	{ "mnt", CLONE_NEWNS },	  { "uts", CLONE_NEWUTS }, { "ipc", CLONE_NEWIPC },
	{ "net", CLONE_NEWNET },  { "cgroup", CLONE_NEWCGROUP },
};

static int flag, fds[2];
static unsigned int turn;

static void find_kind(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(words[0], kinds[i].name))
			flag = kinds[i].flag;
	if (!flag)
		usage("CALL mnt|uts|ipc|net|cgroup OPS");
}

static int open_present(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", words[0]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die_or_not_there(path);
	return fd;
}

static void prepare_setns(void)
{
	find_kind();
	fds[0] = open_present();
	must_know(unshare(flag), "unshare");
	fds[1] = open_present();
}

static void op_unshare(void)
{
	must_know(unshare(flag), "unshare");
}

static void op_setns(void)
{
	must(setns(fds[turn++ & 1], flag), "setns");
}

static const struct variant variants[] = {
	{ "unshare", find_kind, op_unshare },
	{ "setns", prepare_setns, op_setns },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "CALL KIND OPS", argc, argv);
}
