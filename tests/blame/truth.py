"""A repository whose history is known: a C program of some files, and what each commit does to it.

Functions that a commit changes stand apart, so that one commit's code is not another's: what the
program executes more after a commit than before it is the commit's.
"""

import subprocess
from pathlib import Path
from typing import NamedTuple

FILES = {
    "work.h": """\
#define APART __attribute__((noinline, noclone))

extern volatile int data[64];

int kept(int);
int scaled(int);
int summed(int);
int looped(int);
int removed(int);
int old_name(int);
int moved(int);
int worn(int);
int called(int);
int caller(int);
int tidy(int);
int helped(int);
int inlining(int);
int noted(int);
int audited(int);
int checked(int);
int weighed(int);
int parted(int);
""",
    "main.c": """\
#include "work.h"

volatile int data[64];

int main(void)
{
\tint total = 0;

\tfor (int round = 0; round < 50; round++) {
\t\ttotal += kept(round);
\t\ttotal += scaled(round);
\t\ttotal += summed(round);
\t\ttotal += looped(round);
\t\ttotal += removed(round);
\t\ttotal += old_name(round);
\t\ttotal += moved(round);
\t\ttotal += worn(round);
\t\ttotal += caller(round);
\t\ttotal += tidy(round);
\t\ttotal += helped(round);
\t\ttotal += inlining(round);
\t\ttotal += noted(round);
\t\ttotal += audited(round);
\t\ttotal += checked(round);
\t\ttotal += weighed(round);
\t\ttotal += parted(round);
\t}
\tdata[0] = total;
\treturn 0;
}
""",
    "sums.c": """\
#include "work.h"

APART int kept(int seed)
{
\tint sum = seed;

\tfor (int i = 0; i < 64; i++)
\t\tsum += data[i];
\treturn sum;
}

APART int scaled(int seed)
{
\tint sum = seed;

\tfor (int i = 0; i < 64; i++)
\t\tsum = sum * 2 + data[i];
\treturn sum;
}

APART int summed(int seed)
{
\tint sum = seed;

\tfor (int i = 0; i < 64; i++)
\t\tsum += data[i];
\treturn sum;
}

APART int looped(int seed)
{
\tint sum = seed;

\tfor (int i = 0; i < 20; i++)
\t\tsum += data[i];
\treturn sum;
}

APART int removed(int seed)
{
\tint sum = seed;

\tfor (int i = 0; i < 32; i++)
\t\tsum -= data[i];
\treturn sum;
}

APART int old_name(int seed)
{
\tint product = seed;

\tfor (int i = 0; i < 16; i++)
\t\tproduct *= data[i];
\treturn product;
}

APART int moved(int seed)
{
\tint largest_of_all = seed;

\tfor (int i = 0; i < 24; i++)
\t\tif (data[i] > largest_of_all)
\t\t\tlargest_of_all = data[i];
\treturn largest_of_all;
}
""",
    "calls.c": """\
#include "work.h"

APART int worn(int seed)
{
\tint sum = 0;

\tfor (int i = 0; i < 48; i++)
\t\tsum ^= data[i] + seed;
\treturn sum;
}

APART int called(int seed)
{
\tint sum = seed;

\tfor (int i = 0; i < 8; i++)
\t\tsum += data[i] * 3;
\treturn sum;
}

APART int caller(int seed)
{
\tint sum = 0;

\tfor (int i = 0; i < 10; i++)
\t\tsum += called(seed);
\treturn sum;
}

APART int tidy(int seed)
{
\tint sum = 0;
\tfor (int i = 0; i < 12; i++) { sum += data[i]; sum ^= seed; }
\treturn sum;
}

APART int helped(int seed)
{
\tint sum = 0;

\tfor (int i = 0; i < 30; i++)
\t\tsum += data[i];
\treturn sum;
}

APART int inlining(int seed)
{
\tint sum = 0;

\tfor (int i = 0; i < 30; i++)
\t\tsum += data[i];
\treturn sum;
}

APART int noted(int seed)
{
\tint sum = 0;

\tfor (int i = 0; i < 40; i++)
\t\tsum += data[i] & seed;
\treturn sum;
}

static inline int digest(int value)
{
\tvalue ^= value >> 5;
\treturn value * 13;
}

APART int audited(int seed)
{
\tint sum = seed;

\tfor (int i = 0; i < 9; i++)
\t\tsum += digest(data[i]);
\treturn sum;
}

APART int checked(int seed)
{
\tint sum = 0;

\tfor (int i = 0; i < 6; i++) {
\t\tsum += data[i];
\t\tdata[63] = audited(digest(data[seed & 31]));
\t}
\treturn sum;
}

APART int weighed(int seed)
{
\tint sum = 0;

\tfor (int i = 0; i < 5; i++) {
\t\tsum += data[i] * seed;
\t}
\treturn sum;
}

APART int parted(int seed)
{
\tint parts = seed;

\tfor (int part = 0; part < 7; part++)
\t\tparts ^= audited(parts + part);
\tdata[61] = parts;
\treturn parts;
}
""",
}
_MOVED = FILES["sums.c"][FILES["sums.c"].index("APART int moved") :]


class Step(NamedTuple):
    """A commit. ``edits``: (file, text, what takes its place); ``renames``: (file, its new name).
    ``by``: what differs by design from what it costs: "" nothing, else the kind of rows that have
    the rest."""

    subject: str
    edits: tuple[tuple[str, str, str], ...] = ()
    renames: tuple[tuple[str, str], ...] = ()
    by: str = ""


STEPS = (
    Step("all: begin"),
    Step(
        "calls: help helped()",
        (
            (
                "calls.c",
                "APART int helped(",
                "static APART int helper(int value)\n{\n\treturn value * value + data[1];\n}\n\n"
                "APART int helped(",
            ),
            (
                "calls.c",
                "\tfor (int i = 0; i < 30; i++)\n\t\tsum += data[i];\n\treturn sum;\n}\n\n"
                "APART int inlining",
                "\tfor (int i = 0; i < 30; i++)\n\t\tsum += helper(seed + i);\n\treturn sum;\n}\n\n"
                "APART int inlining",
            ),
        ),
    ),
    Step(
        "work: fold values in a helper that is inlined",
        (
            (
                "work.h",
                "int kept(int);",
                "static inline int folded(int value)\n{\n\tvalue ^= value >> 7;\n"
                "\treturn value * 11;\n}\n\nint kept(int);",
            ),
            (
                "calls.c",
                "\t\tsum += data[i];\n\treturn sum;\n}\n\nAPART int noted",
                "\t\tsum += folded(data[i]);\n\treturn sum;\n}\n\nAPART int noted",
            ),
        ),
    ),
    Step(
        "sums: move moved()",
        (("sums.c", f"\n{_MOVED}", ""), ("calls.c", "APART int worn", f"{_MOVED}\nAPART int worn")),
    ),
    Step(
        "all: a better name for old_name()",
        tuple((file, "old_name(", "new_name(") for file in ("work.h", "main.c", "sums.c")),
    ),
    Step(
        "calls: tidy tidy()",
        (
            (
                "calls.c",
                "\tfor (int i = 0; i < 12; i++) { sum += data[i]; sum ^= seed; }",
                "\n\tfor (int i = 0; i < 12; i++) {\n\t\tsum += data[i];\n\t\tsum ^= seed;\n\t}",
            ),
        ),
        by="other-code",
    ),
    Step("sums: scale by 1001", (("sums.c", "sum * 2 + data[i]", "sum * 1001 + data[i]"),)),
    Step("sums: look at more", (("sums.c", "i < 20", "i < 60"),), by="more-often"),
    Step(
        "all: remove removed()",
        (
            ("work.h", "int removed(int);\n", ""),
            ("main.c", "\t\ttotal += removed(round);\n", ""),
            (
                "sums.c",
                FILES["sums.c"][
                    FILES["sums.c"].index("APART int removed") : FILES["sums.c"].index(
                        "APART int old_name"
                    )
                ],
                "",
            ),
        ),
    ),
    Step(
        "calls: shift what is worn",
        (("calls.c", "sum ^= data[i] + seed;", "sum ^= (data[i] + seed) >> 3;"),),
        by="together",
    ),
    Step(
        "calls: wear it twice",
        (
            (
                "calls.c",
                "sum ^= (data[i] + seed) >> 3;",
                "sum ^= ((data[i] + seed) >> 3) * (data[i + 1] | 5);",
            ),
        ),
        by="together",
    ),
    Step("calls: call more often", (("calls.c", "i < 10", "i < 25"),), by="more-often"),
    Step(
        "calls: say what is noted",
        (("calls.c", "APART int noted", "/*\n * What is noted.\n */\nAPART int noted"),),
    ),
    Step(
        "calls: do not audit what is checked",
        (("calls.c", "\t\tdata[63] = audited(digest(data[seed & 31]));\n", ""),),
        by="calls",
    ),
    Step(
        "calls: audit what is weighed",
        (
            (
                "calls.c",
                "\t\tsum += data[i] * seed;\n",
                "\t\tsum += data[i] * seed;\n\t\tdata[62] = audited(digest(data[i]));\n",
            ),
        ),
        by="calls",
    ),
    Step(
        "calls: a helper of what parted() does",
        (
            (
                "calls.c",
                "APART int parted(int seed)\n{\n\tint parts = seed;\n\n"
                "\tfor (int part = 0; part < 7; part++)\n\t\tparts ^= audited(parts + part);\n",
                "static APART int part_of(int parts)\n{\n"
                "\tfor (int part = 0; part < 7; part++)\n\t\tparts ^= audited(parts + part);\n"
                "\treturn parts & 0xffff;\n}\n\n"
                "APART int parted(int seed)\n{\n\tint parts = part_of(seed);\n\n",
            ),
        ),
        by="moved",
    ),
    Step("sums: another name for the file", renames=(("sums.c", "totals.c"),)),
)


def make(folder: Path) -> list[str]:
    """Make the repository; the hashes of its commits, in order."""
    git(folder, "init", "-q", "-b", "main")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    hashes = []
    for number, step in enumerate(STEPS):
        for file, text, instead in step.edits:
            before = (folder / file).read_text()
            assert before.count(text) == 1, (step.subject, file, text)
            (folder / file).write_text(before.replace(text, instead))
        for old, new in step.renames:
            (folder / old).rename(folder / new)
        git(folder, "add", "-A")
        date = f"2026-01-{number + 1:02}T12:00:00+00:00"
        git(folder, "commit", "-q", "-m", step.subject, date=date)
        hashes.append(git(folder, "rev-parse", "HEAD").strip())
    return hashes


def build(folder: Path, commit: str, number: int, into: Path) -> Path:
    """The program of a commit, linked where no other commit's is: in one guest all of them run, and
    addresses tell them apart."""
    git(folder, "checkout", "-q", commit)
    program = into / f"work-{number:02}"
    sources = sorted(path.name for path in folder.glob("*.c"))
    options = ["-O2", "-g", "-static", "-no-pie", f"-Wl,-Ttext-segment={(number + 1) << 24:#x}"]
    subprocess.run(["cc", *options, "-o", program, *sources], cwd=folder, check=True)
    return program


def git(folder: Path, *arguments: str, date: str = "2026-01-01T12:00:00+00:00") -> str:
    """Run git with nothing of the user's configuration."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_NAME": "C",
        "GIT_COMMITTER_EMAIL": "c@example.org",
        "GIT_COMMITTER_DATE": date,
    }
    return subprocess.run(
        ["git", "-C", folder, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    ).stdout
