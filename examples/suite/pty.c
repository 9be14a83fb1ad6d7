/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pty line OPS: a line of 64 bytes goes through a pseudoterminal in raw mode, within one process.
 */
#include "variants.h"

#include <sys/ioctl.h>
#include <termios.h>

static int outer, inner;

static void open_pty(void)
{
	struct termios mode;
	int zero = 0, number;
	char path[32];

	/* Where devpts is not mounted: a mount of our own. */
	enter_tmpfs(NULL);
	must(mkdir("pts", 0755), "mkdir");
	must(mount("none", "pts", "devpts", 0, "newinstance,ptmxmode=0666"), "devpts");
	outer = must(open("pts/ptmx", O_RDWR | O_NOCTTY), "ptmx");
	must(ioctl(outer, TIOCSPTLCK, &zero), "TIOCSPTLCK");
	must(ioctl(outer, TIOCGPTN, &number), "TIOCGPTN");
	snprintf(path, sizeof(path), "pts/%d", number);
	inner = must(open(path, O_RDWR | O_NOCTTY), "pty");
	must(tcgetattr(inner, &mode), "tcgetattr");
	cfmakeraw(&mode);
	must(tcsetattr(inner, TCSANOW, &mode), "tcsetattr");
}

static void op_line(void)
{
	char line[64] = "";

	must(write(outer, line, sizeof(line)), "write");
	for (size_t done = 0; done < sizeof(line);)
		done += must(read(inner, line, sizeof(line)), "read");
}

static const struct variant variants[] = { { "line", open_pty, op_line }, {} };

int main(int argc, char **argv)
{
	return run_variant(variants, "line OPS", argc, argv);
}
