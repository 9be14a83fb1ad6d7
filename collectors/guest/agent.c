/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's agent: runs the workload between the marks of the whole command.
 *
 *   agent run ARGV STATUS   execute the command in ARGV (its arguments, each ended by a NUL) and
 *                           write "exit N" or "signal N" to STATUS
 *   agent vdso              write this process's vDSO, an ELF file, to standard output
 *
 * The child is made by vfork(), so that copying the agent's page tables is not part of what is
 * measured.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND_START() __asm__ volatile("nopl 0x50444903(%%rax)" : : : "memory")
#define COMMAND_STOP() __asm__ volatile("nopl 0x50444904(%%rax)" : : : "memory")

static void fail(const char *what)
{
	fprintf(stderr, "profdiff agent: %s: %s\n", what, strerror(errno));
	exit(125);
}

static char **read_arguments(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) || st.st_size == 0)
		fail(path);
	char *text = malloc(st.st_size);
	char **arguments = calloc(st.st_size + 1, sizeof(*arguments));
	if (!text || !arguments || read(fd, text, st.st_size) != st.st_size ||
	    text[st.st_size - 1] != '\0')
		fail(path);
	close(fd);
	size_t n = 0;
	for (char *at = text; at < text + st.st_size; at += strlen(at) + 1)
		arguments[n++] = at;
	return arguments;
}

static int run(const char *argv_path, const char *status_path)
{
	char **arguments = read_arguments(argv_path);
	/* Opened beforehand: creating it is not part of the measured command. */
	FILE *status_file = fopen(status_path, "w");
	if (!status_file)
		fail(status_path);
	volatile int exec_error = 0;
	int status;

	COMMAND_START();
	pid_t child = vfork();
	if (child == 0) {
		execvp(arguments[0], arguments);
		exec_error = errno;
		_exit(127);
	}
	pid_t waited;
	do
		waited = waitpid(child, &status, 0);
	while (waited < 0 && errno == EINTR);
	COMMAND_STOP();

	if (child < 0 || waited < 0)
		fail("cannot start the workload");
	if (exec_error)
		fprintf(status_file, "exec %s\n", strerror(exec_error));
	else if (WIFSIGNALED(status))
		fprintf(status_file, "signal %d\n", WTERMSIG(status));
	else
		fprintf(status_file, "exit %d\n", WEXITSTATUS(status));
	return fclose(status_file) ? 125 : 0;
}

/* The kernel maps the vDSO whole, its section headers last (arch/x86/entry/vdso). */
static int vdso(void)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	if (!header)
		return 0;
	size_t size = header->e_shoff + (size_t)header->e_shentsize * header->e_shnum;
	return fwrite(header, 1, size, stdout) == size && !fflush(stdout) ? 0 : 125;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "run"))
		return run(argv[2], argv[3]);
	if (argc == 2 && !strcmp(argv[1], "vdso"))
		return vdso();
	fprintf(stderr, "usage: agent run ARGV STATUS | agent vdso\n");
	return 125;
}
