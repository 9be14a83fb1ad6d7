/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * landlock WHAT OPS: rules for files. open opens a file below rules that allow it, open-free the
 * same file without any; ruleset makes a set of one rule, which nobody puts into force.
 */
#include "variants.h"

#include <linux/landlock.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

static int folder;

static void make_file(void)
{
	enter_tmpfs(NULL);
	must(mkdir("a", 0700), "mkdir");
	must(mkdir("a/b", 0700), "mkdir");
	close(must(open("a/b/file", O_RDWR | O_CREAT, 0600), "open"));
	folder = must(open("a", O_PATH), "open");
}

static int make_ruleset(void)
{
	struct landlock_ruleset_attr attributes = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE,
	};
	struct landlock_path_beneath_attr rule = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
		.parent_fd = folder,
	};
	int ruleset = must(syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0),
			   "Landlock");

	must(syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0),
	     "landlock_add_rule");
	return ruleset;
}

static void restrict_self(void)
{
	make_file();
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
	must(syscall(SYS_landlock_restrict_self, make_ruleset(), 0), "landlock_restrict_self");
}

static void op_open(void)
{
	close(must(open("a/b/file", O_RDONLY), "open"));
}

static void op_ruleset(void)
{
	close(make_ruleset());
}

static const struct variant variants[] = {
	{ "open", restrict_self, op_open },
	{ "open-free", make_file, op_open },
	{ "ruleset", make_file, op_ruleset },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT OPS", argc, argv);
}
