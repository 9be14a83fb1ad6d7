"""The command in a mail, typed where its files are, records the same session."""

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import synthetic
from support import EXAMPLE, profdiff

from profdiff.commands.experiment.request import asked_suite, experiments
from profdiff.commands.record import record
from profdiff.mail.content import typed_command
from profdiff.mail.measured import recorded, words_without_paths
from profdiff.recording.suites import SuitePlan
from profdiff.session import manifest as m
from profdiff.session.manifest import Manifest
from profdiff.session.session import Session

Type = Callable[[Sequence[str]], list[Manifest]]
FILE = """
kernel = ["base={old}", "new={new},append='mitigations=off quiet'"]
output = "{folder}/toggled.profdiff"
command = ["toggle.c", "{{size_kib}}", "{{ops}}"]
sweep = {{ size_kib = [4, 40] }}
ops = 20
cpus = [1, 2]
memory = "512M"
observe = false
file = ["data/set.bin:/etc/a set"]
metric = ['pattern:n: (?P<nsec_per_call>\\d+) ns/x']
collector = ["timed", "exact"]
repeat = 3
seed = 7
"""
SUITE = """
kernel = ["base={old}", "new={new}"]
memory = "256M"

[[workload]]
name = "toggle"
command = ["toggle.c", "{{size}}", "{{ops}}"]
sweep = {{ size = ["4", "40"] }}
ops = 40
vary-state = 2

[[workload]]
name = "toggle2"
command = ["toggle.c", "8", "3"]
"""


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Type:
    """Types a command line in the current folder: the sessions that it plans."""

    def sessions(words: Sequence[str]) -> list[Manifest]:
        assert list(words[:2]) == ["profdiff", "record"]
        monkeypatch.setattr(sys, "argv", list(words))
        with record.make_context("record", list(words[2:])) as context:
            if (suite := asked_suite(context.params)) is not None:
                return [one.experiment.planned for one in SuitePlan.of(suite).each]
            return [one.planned for one in experiments(context.params).each]

    return sessions


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of who records, with what is recorded; the current one is another."""
    folder = tmp_path / "mine" / "work"
    (folder / "data").mkdir(parents=True)
    (folder / "data/set.bin").write_text("x")
    shutil.copy(EXAMPLE, folder / "toggle.c")
    (tmp_path / "mine/elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "mine/elsewhere")
    return folder


def in_a_mail(planned: Manifest, kernels: dict[str, Path]) -> list[str]:
    """The words that a shell reads of the mail's command, with somebody else's builds."""
    words = recorded(planned)
    read = shlex.split(typed_command(words).replace("\\\n", " "))
    releases = {one.release or one.label: kernels[one.label] for one in planned.kernels}
    return [
        re.sub(rf"={re.escape(was)}(?=,|$)", f"={now}", word)
        for word in read
        for was, now in [next(((r, k) for r, k in releases.items() if f"={r}" in word), ("-", ""))]
    ]


def alike(planned: Manifest) -> Manifest:
    """Without what differs between two recordings of one thing."""
    argv = [Path(planned.workload.argv[0]).name, *planned.workload.argv[1:]]
    workload = m.replace(planned.workload, argv=argv)
    programs = [
        m.replace(one, variant=m.replace(one.variant, program=Path(one.variant.program).name))
        for one in planned.kernels
    ]
    # Which cells of a suite are seen in how many states is decided later.
    order = m.replace(planned.order, states=0)
    changes = {"workload": workload, "kernels": programs, "order": order}
    return m.replace(planned, command=[], created="", **changes)


WAYS = {
    "file": ["--experiment", "{place}/profdiff.toml"],
    "file, in part": ["--experiment", "{place}/profdiff.toml", "--ops", "8", "--repeat", "1"],
    "suite": ["--suite", "{place}/suite.toml"],
    "built-in suite": [
        "--suite",
        "syscalls",
        "--only",
        "getpid",
        "--only",
        "brk/*",
        "--memory",
        "300M",
    ],
    "append": [
        "--append",
        "init=/sbin/none",
        "--ops",
        "4",
        "--",
        "{place}/toggle.c",
        "4",
        "{{ops}}",
    ],
    "boot": ["--boot", "--append", "quiet"],
    "sweep": [
        "--sweep",
        "a=4,8",
        "--sweep",
        "b=2,4",
        "--zip",
        "--ops",
        "{{b}}",
        "--",
        "{place}/toggle.c",
        "{{a}}",
        "{{b}}",
    ],
    "variants": [
        *("--variant", "a={place}/data/toggle.c", "--variant", "b={place}/other/toggle.c"),
        *("--", "{{program}}", "4", "9"),
    ],
    "files": ["--file", "{place}/data:/work/d", "--", "ls", "-R", "/usr/include"],
    "shard": ["--shard", "1/2", "--", "{place}/toggle.c", "4", "9"],
}


@pytest.mark.parametrize("way", WAYS)
def test_it_asks_for_the_same_session(
    way: str, place: Path, typed: Type, old_kernel: Path, new_kernel: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    kernels = {"base": old_kernel, "new": new_kernel}
    told = {"old": old_kernel, "new": new_kernel, "folder": place.parent / "elsewhere"}
    (place / "profdiff.toml").write_text(FILE.format(**told))
    (place / "suite.toml").write_text(SUITE.format(**told))
    (place / "other").mkdir()
    shutil.copy(EXAMPLE, place / "data/toggle.c")
    (place / "other/toggle.c").write_text(EXAMPLE.read_text() + "\nint more;\n")
    words = [word.format(place=place) for word in WAYS[way]]
    if way == "variants":
        words = ["--kernel", f"base={old_kernel}", *words]
        kernels = dict.fromkeys("ab", old_kernel)
    elif not {"--experiment", "{place}/suite.toml", f"{place}/suite.toml"} & set(words):
        append = f"new={new_kernel},append='a=1 b=2',memory=700M"
        words = ["--kernel", f"base={old_kernel}", "--kernel", append, *words]
    sessions = typed(["profdiff", "record", *words])
    # Somebody else has all files in one folder, as the mail names them.
    for name in ("profdiff.toml", "suite.toml"):
        (place / name).unlink()
    shutil.copy(place / "data/set.bin", place)
    monkeypatch.chdir(place)
    for planned in sessions:
        sent = in_a_mail(planned, kernels)
        assert str(place.parent) not in " ".join(sent)
        assert "--experiment" not in sent
        again = typed(sent)
        same = [one for one in again if one.workload.guest_argv == planned.workload.guest_argv]
        assert list(map(alike, same)) == [alike(planned)]
        assert way == "suite" or len(again) <= len(sessions)


@pytest.mark.guest
@pytest.mark.usefixtures("qemu")
def test_what_a_mail_says_counts_the_same(place: Path, old_kernel: Path, tmp_path: Path) -> None:
    """Recorded from a file, sent, and typed by somebody else; then with one more kernel."""
    (place / "profdiff.toml").write_text(
        f'kernel = ["base={old_kernel}", "new={old_kernel},append=nosmt"]\nops = 8\n'
        'command = ["toggle.c", "4", "{ops}"]\noutput = "t.profdiff"\nobserve = false\n'
    )
    profdiff("record", "--experiment", place / "profdiff.toml")
    lines = profdiff("mail", "t.profdiff").stdout.split("How to reproduce:\n")[1].split("\n\n")[0]
    words = shlex.split(lines.replace("\\\n", " "))
    assert words[:2] == ["profdiff", "record"]
    assert words[-4:] == ["--", "toggle.c", "4", "{ops}"]
    release = Session.open(Path("t.profdiff")).manifest.kernels[0].release
    theirs = [word.replace(f"={release}", f"={old_kernel}") for word in words[1:]]
    (tmp_path / "theirs").mkdir()
    shutil.copy(place / "toggle.c", tmp_path / "theirs")
    profdiff(*theirs, cwd=tmp_path / "theirs")

    def counts(folder: Path) -> list[object]:
        return [run.instructions for run in Session.open(folder).manifest.runs]

    assert counts(tmp_path / "theirs/t.profdiff") == counts(Path("t.profdiff")) != []
    more = ["--observe", "--kernel", f"base={old_kernel}", "--kernel", f"c={old_kernel},append=a=b"]
    profdiff("record", "--experiment", place / "profdiff.toml", *more)
    told = Session.open(Path("t.profdiff")).manifest.command
    assert [word.partition("=")[0] for word in told if "=" in word] == ["base", "new", "c"]


def test_a_path_behind_an_option_is_no_ones_business() -> None:
    words = ["-I/home/alice/include", "@/home/alice/words", "CFLAGS=-I/home/alice/x", "-O2"]
    kept = ["-Iinclude", "@words", "CFLAGS=-Ix", "-O2"]
    assert words_without_paths([*words, "file:///home/alice/x"]) == [*kept, "file://x"]


def test_options_of_the_workload_are_its_own() -> None:
    """--shard and --file before -- are profdiff's."""
    own = ["--", "./prog", "--shard=3", "--shards", "x", "--file=/home/alice/a:/home/alice/b"]
    given = ["profdiff", "record", "--shard", "1/2", "--kernel", "a=v6.1", *own]
    workload = m.Workload(["./prog"], ["/work/prog"], "program", [])
    manifest = m.replace(synthetic.manifest(["a"]), command=given, workload=workload)
    words = recorded(manifest)
    assert words == [*given[:2], *given[4:-1], "--file=b"]
