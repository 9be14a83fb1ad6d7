/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls CALL OPS: system calls of published timings that no program of the suite makes. Files lie on
 * tmpfs. seccomp-N: getppid() below N filters that allow it, of which the first two need no argument.
 * protection: a write to read-only memory, behind which a handler of SIGSEGV goes on.
 */
#include "../suite/variants.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/xattr.h>

#define BLOCK 4096
#define MALLOC_SIZE ((size_t)128 << 20)
#define DEEP "/usr/lib/gcc/x86_64-linux-gnu/12/file"

static int fd;
static struct stat status;
static struct statx extended;
static char block[BLOCK], names[2 * BLOCK];
static char *guarded;
static volatile sig_atomic_t caught;

static void make_file(void)
{
	enter_tmpfs(NULL);
	fd = must(open("file", O_RDWR | O_CREAT, 0600), "open");
	must(write(fd, block, BLOCK), "write");
}

/* A path as long as the published ones, all of it on tmpfs. */
static void make_deep_file(void)
{
	char path[] = DEEP;

	enter_tmpfs(NULL);
	for (char *at = path + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = 0;
		must(mkdir(path + 1, 0755), "mkdir");
	}
	close(must(open(path + 1, O_RDWR | O_CREAT, 0600), "open"));
}

static void open_full(void)
{
	must(mknod("full", S_IFCHR | 0600, 0x107), "mknod");
	fd = must(open("full", O_RDWR), "open");
}

static void make_attribute(void)
{
	make_file();
	must(fsetxattr(fd, "user.fsregression", "seed", 4, 0), "attributes of users on tmpfs");
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	caught += number == SIGSEGV && info->si_addr == guarded;
#if defined(__x86_64__)
	user->uc_mcontext.gregs[REG_RIP] += 3; /* movb */
#elif defined(__aarch64__)
	user->uc_mcontext.pc += 4; /* strb */
#endif
}

static void guard(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	guarded = state_map("anon", page_size());
	must(mprotect(guarded, page_size(), PROT_READ), "mprotect");
	must(sigaction(SIGSEGV, &action, NULL), "sigaction");
}

static void op_fstat(void)
{
	must(syscall(SYS_fstat, fd, &status), "fstat");
}

static void op_fstatat(void)
{
	must(fstatat(fd, "", &status, AT_EMPTY_PATH), "fstatat");
}

static void op_statx_empty(void)
{
	must(syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &extended), "statx");
}

static void op_statx_null(void)
{
	must(syscall(SYS_statx, fd, NULL, AT_EMPTY_PATH, STATX_BASIC_STATS, &extended), "statx");
}

static void op_stat_deep(void)
{
	must(stat(DEEP + 1, &status), "stat");
}

static void op_access_deep(void)
{
	must(access(DEEP + 1, R_OK), "access");
}

static void op_full(void)
{
	must(pread(fd, block, BLOCK, 0), "pread");
	if (pwrite(fd, block, BLOCK, 0) != -1 || errno != ENOSPC)
		die("/dev/full is not full");
}

static void op_writeseek(void)
{
	must(write(fd, block, BLOCK), "write");
	must(lseek(fd, 0, SEEK_SET), "lseek");
}

static void op_malloc(void)
{
	char *at = malloc(MALLOC_SIZE);

	if (!at)
		die("malloc");
	*(volatile char *)at = 1;
	free(at);
}

static void op_flistxattr(void)
{
	if (must(flistxattr(fd, names, sizeof(names)), "flistxattr") != sizeof("user.fsregression"))
		die("other attributes");
}

static void op_protection(void)
{
	sig_atomic_t before = caught;

#if defined(__x86_64__)
	__asm__ volatile("movb $0, (%0)" : : "D"(guarded) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("strb wzr, [%0]" : : "r"(guarded) : "memory");
#endif
	if (caught != before + 1)
		die("the write did not fault");
}

static void op_getppid(void)
{
	syscall(SYS_getppid);
}

static void add_filters(int number)
{
	struct sock_filter constant[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_filter argument[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog programs[] = { { 1, constant }, { 2, argument } };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
	for (int i = 0; i < number; i++)
		must_know(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &programs[i > 1]),
			  "seccomp");
}

static void add_1(void)
{
	add_filters(1);
}

static void add_2(void)
{
	add_filters(2);
}

static void add_3(void)
{
	add_filters(3);
}

static void add_4(void)
{
	add_filters(4);
}

static const struct variant variants[] = {
	{ "fstat", make_file, op_fstat },
	{ "fstatat", make_file, op_fstatat },
	{ "statx-empty", make_file, op_statx_empty },
	{ "statx-null", make_file, op_statx_null },
	{ "stat-deep", make_deep_file, op_stat_deep },
	{ "access-deep", make_deep_file, op_access_deep },
	{ "full", open_full, op_full },
	{ "writeseek", make_file, op_writeseek },
	{ "malloc", NULL, op_malloc },
	{ "flistxattr", make_attribute, op_flistxattr },
	{ "protection", guard, op_protection },
	{ "seccomp-0", NULL, op_getppid },
	{ "seccomp-1", add_1, op_getppid },
	{ "seccomp-2", add_2, op_getppid },
	{ "seccomp-3", add_3, op_getppid },
	{ "seccomp-4", add_4, op_getppid },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "CALL OPS", argc, argv);
}
