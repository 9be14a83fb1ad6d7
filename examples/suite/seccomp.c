/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seccomp KIND LENGTH OPS: getppid() below a filter of LENGTH comparisons. "allow" allows every
 * call, so the kernel can know it by the number; "argument" looks at an argument first, so the
 * filter executes in each call; "errno" refuses getppid().
 */
#include "variants.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#define MAX_LENGTH 1000

#define LOAD(at) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at))
#define RETURN(what) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what))
/* Unless what was loaded is `value`, the next instruction is left out. */
#define UNLESS(value) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1))

static void install(bool argument, unsigned int result)
{
	static struct sock_filter code[2 * MAX_LENGTH + 4];
	int length = atoi(words[0]), n = 0;
	struct sock_fprog program = { .filter = code };

	if (length < 1 || length > MAX_LENGTH)
		usage("KIND LENGTH OPS");
	code[n++] = LOAD(argument ? offsetof(struct seccomp_data, args[0]) :
				    offsetof(struct seccomp_data, nr));
	for (int i = 0; i < length; i++) {
		/* No call has this number, and no argument this value. */
		code[n++] = UNLESS(0x7f000000 + i);
		code[n++] = RETURN(SECCOMP_RET_ALLOW);
	}
	if (result != SECCOMP_RET_ALLOW) {
		code[n++] = UNLESS(SYS_getppid);
		code[n++] = RETURN(result);
	}
	code[n++] = RETURN(SECCOMP_RET_ALLOW);
	program.len = n;
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
	must_know(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), "seccomp");
}

static void prepare_allow(void)
{
	install(false, SECCOMP_RET_ALLOW);
}

static void prepare_argument(void)
{
	install(true, SECCOMP_RET_ALLOW);
}

static void prepare_errno(void)
{
	install(false, SECCOMP_RET_ERRNO | EPERM);
}

static void op_getppid(void)
{
	/* The argument is there for the filter. */
	must(syscall(SYS_getppid, 1), "getppid");
}

static void op_refused(void)
{
	if (syscall(SYS_getppid, 1) != -1 || errno != EPERM)
		die("getppid was not refused");
}

static const struct variant variants[] = {
	{ "allow", prepare_allow, op_getppid },
	{ "argument", prepare_argument, op_getppid },
	{ "errno", prepare_errno, op_refused },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "KIND LENGTH OPS", argc, argv);
}
