/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * credentials CALL OPS: changes who this process is, to and fro.
 */
#include "variants.h"

#include <grp.h>
#include <linux/capability.h>

static unsigned int turn;
static struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
static struct __user_cap_data_struct caps[2];

static void get_caps(void)
{
	must(syscall(SYS_capget, &header, caps), "capget");
}

static void op_setresuid(void)
{
	must(syscall(SYS_setresuid, -1, turn++ & 1 ? 0 : 1000, 0), "setresuid");
}

static void op_setgroups(void)
{
	static const gid_t groups[] = { 1, 2, 3, 4 };

	must(syscall(SYS_setgroups, 4, groups), "setgroups");
}

static void op_capget(void)
{
	must(syscall(SYS_capget, &header, caps), "capget");
}

static void op_capset(void)
{
	must(syscall(SYS_capset, &header, caps), "capset");
}

static const struct variant variants[] = {
	{ "setresuid", NULL, op_setresuid },
	{ "setgroups", NULL, op_setgroups },
	{ "capget", NULL, op_capget },
	{ "capset", get_caps, op_capset },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "CALL OPS", argc, argv);
}
