"""Run every command of an installed profdiff in the current folder, and leave what each said in
``said.json``: tests/test_wheel.py gives this file to the Python of a machine without compiler.

    python every_command.py JOBS

The folder has ``toggle`` (a static program), ``toggle.c`` (its source) and ``linux`` (a git
repository with tags of both kernels), ``robot.eml`` (a mail of the robot's) and ``calls.strace``
(what strace writes), and /kernels has the kernels.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from profdiff.commands import COMMANDS
from profdiff.commands.completion import completion
from profdiff.commands.kernel import kernel
from profdiff.reports.command_forms import ANNOTATION_FORMS as ANNOTATION_FORMS
from profdiff.reports.command_forms import BLAME_FORMS as BLAME_FORMS
from profdiff.reports.command_forms import CHECK_FORMS as CHECK_FORMS
from profdiff.reports.forms import FORMS

KERNELS = ["--kernel", "base=/kernels/v6.12.107", "--kernel", "new=/kernels/v6.18.15"]
TOGGLE = ["--", "./toggle", "400", "20", "400", "20"]
SUITE = """
[[workload]]
name = "toggle"
command = ["./toggle", "{pages}", "20"]
sweep = { pages = [40, 400] }
ops = 40
"""
REPOSITORY = ["--repo", "linux"]
SOURCES = ["--source", "base=linux@v6.12.107", "--source", "new=linux@v6.18.15"]
FUNCTION = "commit_anon_folio_batch"
# What ends with status 2 and one line, and how that begins.
NO_COMPILER = "cc is not installed: apt-get install gcc libc6-dev"


def lines(jobs: str) -> dict[str, list[tuple[list[str], str]]]:
    """For each command, the arguments that it is run with, and the beginning of the error that is
    due ("": none)."""
    # What changed is not repeated in other states: that is no command's.
    common = [*KERNELS, "--settle", "0", "--vary-state", "0", "--jobs", jobs]
    record = [*common, "--restore"]
    suite = ["--suite", "suite.toml", *common]
    shards = [f"shard-{number}.profdiff" for number in (1, 2)]
    mail = ["s.profdiff", "--from", "A U Thor <a@example.org>"]
    folded = ["base=folded.base.txt", "new=folded.new.txt"]
    return {
        "record": [
            ([*record, "-o", "s.profdiff", *TOGGLE], ""),
            ([*record, "-o", "c.profdiff", "--", "./toggle.c"], NO_COMPILER),
            ([*record, "--cluster", "local:2", "-o", "cluster.profdiff", *TOGGLE], ""),
            ([*record, "--collector", "perf", *TOGGLE], "perf is not installed"),
            *(
                ([*suite, "--shard", f"{number}/2", "-o", folder], "")
                for number, folder in enumerate(shards, 1)
            ),
            (["--suite", "syscalls", *KERNELS], f"workload mprotect: {NO_COMPILER}"),
        ],
        "plan": [([*KERNELS, *TOGGLE], ""), ([*suite, "-o", "suite.profdiff"], "")],
        "merge": [(["suite.profdiff", *shards], "")],
        "options": [
            (["suite.profdiff"], ""),
            (["suite.profdiff", "--csv", "options.csv", "--html", "options.html"], ""),
            (["git:linux@v6.12.107", "--toggle", "SWAP", *TOGGLE], "make is not installed"),
        ],
        "report": [
            (["s.profdiff"], ""),
            (["s.profdiff", *asked(FORMS, "report", "session")], ""),
            (["s.profdiff", "--ratio", "--ascii"], ""),
            (["s.profdiff", "--layout", "--json", "recorded-layout.json"], ""),
            (["cluster.profdiff", "--csv", "cluster.csv"], ""),
            (["suite.profdiff"], ""),
            (["suite.profdiff", "--cell", "toggle/400"], ""),
            (["suite.profdiff", *asked(FORMS, "suite", "suite")], ""),
        ],
        "layout": [
            (["/kernels/v6.12.107", "/kernels/v6.18.15", "mm_struct"], ""),
            (
                ["/kernels/v6.12.107", "/kernels/v6.18.15", "mm_struct", "--csv", "layout.csv"],
                "",
            ),
            (["/kernels/v6.12.107", "/kernels/v6.18.15", "no_such_type"], "no_such_type: neither"),
        ],
        "size": [
            (["/kernels/v6.12.107", "/kernels/v6.18.15"], ""),
            (["/kernels/v6.12.107", "/kernels/v6.18.15", "--html", "size.html"], ""),
            (["/kernels/v6.12.107"], "one kernel cannot be compared"),
        ],
        "codegen": [
            (["change_pte_range", "/kernels/v6.12.107", "/kernels/v6.18.15"], ""),
            (["change_pte_range"], "there is nothing to compare with"),
        ],
        "atlas": [(["s.profdiff", "suite.profdiff", "-o", "atlas", "--csv", "atlas.csv"], "")],
        "annotate": [
            (["s.profdiff", FUNCTION], ""),
            (["s.profdiff", FUNCTION, *asked(ANNOTATION_FORMS, "annotation", "session")], ""),
            # The kernels' own sources are not here.
            (["s.profdiff", FUNCTION, *SOURCES, "--by", "line"], "mm/mprotect.c of linux@"),
        ],
        "check": [
            (
                [
                    "s.profdiff",
                    "--fail-if",
                    "instructions > +900%",
                    *asked(CHECK_FORMS, "check", "session"),
                ],
                "",
            )
        ],
        "blame": [
            (["s.profdiff", *REPOSITORY], ""),
            (["s.profdiff", *REPOSITORY, *asked(BLAME_FORMS, "blame", "session")], ""),
        ],
        "coverage": [(["s.profdiff"], "")],
        # Kernels are built with a compiler.
        "bisect": [
            (
                [*REPOSITORY, "--good", "v6.12.107", "--bad", "v6.18.15", *TOGGLE],
                "make is not installed",
            )
        ],
        "mail": [
            ([*mail, "-o", "draft.eml", "--attach", "svg", "--checklist"], ""),
            ([*mail, *REPOSITORY], ""),
        ],
        "impact": [
            (["suite.profdiff", "--of", "calls.strace"], ""),
            (["suite.profdiff", "--of", "calls.strace", "--html", "impact.html"], ""),
            (["suite.profdiff", "--of", "toggle.c"], "toggle.c has no known system call"),
        ],
        "lkp": [(["robot.eml"], ""), (["toggle.c"], "toggle.c: it has no table")],
        # An extra that is not there.
        "mcp": [([], "profdiff mcp needs mcp")],
        "import": [([*folded, "-o", "imported.profdiff"], "")],
        "diff": [([*folded, *asked(FORMS, "diff", "session")], "")],
        "calibrate": [(["-o", "prices.json"], "")],
        "doctor": [([], "")],
        "kernel": [
            (["add", "old", "/kernels/v6.12.107"], ""),
            (["list"], ""),
            (["remove", "old"], ""),
            (["fetch", "debian:bookworm"], "cannot read Debian's package lists"),
            (["build", "git:linux@v6.12.107"], "make is not installed"),
        ],
        "completion": [([shell], "") for shell in completion.params[0].type.choices],
        "example": [([], ""), (["mincore-present-pte"], "")],
        "header": [([], "")],
    }


def asked(forms: Sequence[Any], name: str, held: str) -> Iterator[str]:
    """Options for all forms of such a recording, each with a file or a folder; folded stacks are
    imported later."""
    for form in forms:
        if held in form.render:
            target = "folded.txt" if (form.name, name) == ("folded", "report") else form.name
            yield from (f"--{form.name}", target if name == "report" else f"{name}-{form.name}")


def main() -> None:
    known = lines(sys.argv[1])
    assert known.keys() == COMMANDS.keys(), known.keys() ^ COMMANDS.keys()
    tried = {words[0] for words, _ in known["kernel"]}
    assert tried == kernel.commands.keys(), tried ^ kernel.commands.keys()
    Path("suite.toml").write_text(SUITE)
    said = []
    for command, all_words in known.items():
        for words, error in [(["--help"], ""), *all_words]:
            done = subprocess.run(
                ["profdiff", command, *words], capture_output=True, text=True, check=False
            )
            row = {"words": [command, *words], "error": error, "status": done.returncode}
            said.append({**row, "stdout": done.stdout, "stderr": done.stderr})
    Path("said.json").write_text(json.dumps(said, indent=1))


main()
