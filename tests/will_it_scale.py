"""Tests in will-it-scale's shape, which have no main(), and how they are run."""

import os
import subprocess
from pathlib import Path

import pytest

# An operation is a call of fstat(), of one file for all copies.
FSTAT = """\
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
char *testcase_description = "fstat() of the same file";
static int file;
static unsigned long long *counted[64];
static unsigned long copies;
void testcase_prepare(unsigned long nr_tasks)
{
	copies = nr_tasks;
	file = open("/proc/self/exe", O_RDONLY);
	assert(file >= 0);
}
void testcase(unsigned long long *iterations, unsigned long nr)
{
	struct stat st;
	counted[nr] = iterations;
	while (1) {
		int error = fstat(file, &st);
		assert(!error);
		(*iterations)++;
	}
}
void testcase_cleanup(void)
{
	for (unsigned long n = 0; n < copies; n++)
		if (counted[n])
			printf("%llu\\n", *counted[n]);
}
"""


_BODY = """\
#include <stdlib.h>
#include <unistd.h>
extern void new_task(void *(*function)(void *), void *argument);
static int ours[2], theirs[2];
static void *answer(void *none)
{
	char c;
	while (read(ours[0], &c, 1) == 1 && write(theirs[1], &c, 1) == 1)
		;
	return none;
}
void *testcase(unsigned long long *iterations, unsigned long nr)
{
	char c = 0;
	int n = 0;
	(void)answer, (void)c, (void)n, (void)nr;
	while (1) {
		STATEMENTS
	}
}
"""


def body(statements: str) -> str:
    """A test whose copy ``nr`` does ``statements`` again and again; with ``new_task(answer, NULL)``
    another task sends what comes from ``ours`` to ``theirs``."""
    return _BODY.replace("STATEMENTS", statements)


def two_processors() -> None:
    """Skip where copies could not have processors of their own."""
    if not {0, 1} <= os.sched_getaffinity(0):
        pytest.skip("this process may not run on processors 0 and 1")


def run(program: Path, *words: object, seconds: float = 60) -> "subprocess.CompletedProcess[str]":
    """Run a compiled test here."""
    command = [str(program), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
