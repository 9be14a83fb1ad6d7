"""A mail is short and narrow, names its subsystem, and tells nothing of the sender's machine."""

import gzip
import hashlib
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from mail.letters import found, timed
from msgspec.structs import replace
from synthetic import Row, compare, findings, frame
from synthetic_session import exact_session
from tars import unpack_session

from profdiff.base.metric import SAMPLED, Metric
from profdiff.evidence.findings import Findings, choose
from profdiff.evidence.results import Results
from profdiff.mail.content import MailOptions, letter
from profdiff.mail.letter import LINES
from profdiff.mail.measured import recorded, without_paths
from profdiff.mail.reproducer import Reproducer
from profdiff.mail.tables import WIDTH
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.session.state import State
from profdiff.views.claims.answers import subsystem
from profdiff.views.claims.claim import claim

METRIC = m.Measured("latency", "ns/call", "lower", False, [1.0])


def text(findings: Findings, **more: object) -> str:
    return letter(findings, MailOptions(["profdiff", "mail"], **more)).render()  # type: ignore[arg-type]


def bounded(said: str) -> list[str]:
    """The lines that count: all before those that reproduce it."""
    return said[: said.index("How to reproduce:\n")].rstrip("\n").split("\n")


def columns(line: str) -> int:
    """The fewest columns that a terminal needs: combining characters take none."""
    return sum(not unicodedata.combining(character) for character in line)


def check(said: str) -> None:
    lines = bounded(said)
    assert len(lines) <= LINES
    assert max(map(columns, lines)) <= WIDTH, max(lines, key=columns)


def test_the_row_of_other_functions_has_every_one_that_is_left_out() -> None:
    frames = [[frame(f"f{number}")] for number in range(70)]
    rows: dict[str, list[Row]] = {
        label: [(one, "", True, [1_000 * factor - at]) for at, one in enumerate(frames)]
        for factor, label in enumerate(("base", "new"), 1)
    }
    one = findings([compare(rows, ops=10)])
    shown = []
    for top in (3, 8, 500):
        for words in (0, 10, 20, 30, 40):
            differs = {f"s{n}": {"base": "4 " * words, "new": "9 " * words} for n in range(4)}
            same = {f"fact {n}": "x" for n in range(words)}
            said = text(replace(one, state=State(dict(differs), equal=same)), top=top)
            check(said)
            shown.append(len(re.findall(r"(?m)^.* f\d+$", said)))
            assert "more rows left out" not in said
            assert f"{70 - shown[-1]} other functions" in said
    assert {3, 8} < {*shown} and 8 < max(shown) < LINES


def test_a_claim_of_samples_says_how_many() -> None:
    one = compare(
        {"base": [([frame("f")], "", True, [400])], "new": [([frame("f")], "", True, [900])]}
    )
    assert "samples" not in " ".join(claim(findings([one])).more)
    sampled = replace(one, metric=Metric("cycles", kind=SAMPLED), run_samples=one.run_counts)
    # 900 / 400 * sqrt(1 / 400 + 1 / 900)
    said = (
        "There are 400 and 900 samples: the standard error of the change is 13.5 percentage points"
    )
    assert said in " ".join(claim(findings([sampled])).more)


def test_the_mail_of_a_kept_session_is_short_and_narrow(tmp_path: Path) -> None:
    """A sweep of two kernels."""
    unpack_session(tmp_path / "s")
    session = Session.open(tmp_path / "s")
    results = Results.gather(session.manifest)
    for at in (None, "size_kib=4"):
        said = text(Findings.of(session, choose(session.manifest, at, results), results))
        check(said)
        assert without_paths(said) == said


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(
    kernels=st.integers(2, 12),
    points=st.integers(1, 40),
    metrics=st.integers(1, 20),
    boots=st.integers(1, 12),
    label=st.text("ab", min_size=1, max_size=50),
    differences=st.integers(0, 30),
    data=st.data(),
)
def test_any_mail_is_short_and_narrow(
    kernels: int,
    points: int,
    metrics: int,
    boots: int,
    label: str,
    differences: int,
    data: st.DataObject,
) -> None:
    number = st.floats(0.01, 1e12) | st.integers(0, 1000).map(float)
    values = data.draw(st.lists(number, min_size=4, max_size=4))
    many = {
        f"{label}{kernel}": [
            [values[(kernel * point + boot) % 4] for boot in range(boots)]
            for point in range(points)
        ]
        for kernel in range(kernels)
    }
    one = timed(
        many,
        metrics=[m.replace(METRIC, name=f"{(label * 2)[:60]}-{n}") for n in range(metrics)],
        sizes=[str(4**point) for point in range(points)],
    )
    differ: dict[str, dict[str, str | None]] = {
        f"system call {n}": dict.fromkeys(many, str(n)) for n in range(differences)
    }
    check(text(replace(one, state=State(differ))))


@settings(max_examples=examples(40))
@given(
    rows=st.integers(1, 60),
    name=st.text(min_size=1, max_size=300),
    size=st.integers(1, 10**12),
    top=st.integers(1, 100),
)
def test_any_table_of_functions_is_short_and_narrow(
    rows: int, name: str, size: int, top: int
) -> None:
    made: dict[str, Sequence[Row]] = {
        label: [
            ([frame(f"{name}{row}", owner=name[:20])], "f", True, [size + row * factor])
            for row in range(rows)
        ]
        for label, factor in (("base", 1), ("new", size))
    }
    check(text(findings([compare(made)]), top=top))


def test_what_is_left_out_is_counted() -> None:
    said = text(timed({f"k{n}": [[float(n + size) for size in range(40)]] for n in range(2)}))
    assert "more row" not in said
    swept = timed(
        {f"k{n}": [[100.0 + n + size] for size in range(40)] for n in range(9)},
        sizes=[str(size) for size in range(40)],
    )
    assert re.search(r"\[not shown: \d+ more points, [67] more kernels\]", text(swept))


def test_the_largest_change_is_the_headline() -> None:
    """The sweep's last point changes less."""
    swept = timed(
        {"base": [[100.0], [100.0], [100.0]], "new": [[101.0], [150.0], [110.0]]},
        sizes=["4", "40", "400"],
        collector="exact",
        metrics=[m.Measured("instructions", "instructions", "lower", True, [1.0])],
    )
    chosen = choose(swept.manifest, None, swept.results)
    assert chosen.title == "size 40"
    here = replace(swept, setting=chosen)
    assert "executes 50.0% more instructions" in claim(here).sentence
    assert " at size 40: 150 instead of 100" in claim(here).sentence
    assert choose(swept.manifest, "size=400", swept.results).title == "size 400"
    # Of a loss that is irrelevant and a gain that is large, the gain.
    better = timed(
        {"base": [[1000.0], [1000.0]], "new": [[1000.1], [400.0]]},
        sizes=["4", "40"],
        collector="exact",
        metrics=[m.Measured("instructions", "instructions", "lower", True, [1.0])],
    )
    assert choose(better.manifest, None, better.results).title == "size 40"


@pytest.mark.parametrize(
    ("files", "prefix"),
    [
        (["mm/mprotect.c"], "mm/mprotect"),
        (["mm/mprotect.c", "include/linux/mm.h", "include/linux/mm.h"], "mm/mprotect"),
        (["mm/mprotect.c", "mm/memory.c", "mm/rmap.c"], "mm"),
        (["kernel/sched/fair.c"], "sched/fair"),
        (["kernel/fork.c"], "kernel/fork"),
        (["arch/x86/mm/tlb.c"], "x86/mm/tlb"),
        (["fs/ext4/inode.c", "fs/ext4/super.c"], "ext4"),
        (["mm/a.c", "fs/b.c"], ""),
        (["include/linux/mm.h"], ""),
        (["/home/me/linux/mm/mprotect.c"], ""),
        (["../../etc/x.c"], ""),
        ([""], ""),
    ],
)
def test_the_subject_has_the_subsystem(files: list[str], prefix: str) -> None:
    rows = {
        label: [([frame(f"f{n}", file=file)], "f", True, [count]) for n, file in enumerate(files)]
        for label, count in (("base", 10), ("new", 90))
    }
    comparison = compare(rows)  # type: ignore[arg-type]
    assert subsystem(comparison, 1) == prefix
    subject = claim(findings([comparison])).subject
    assert subject.startswith(f"{prefix}: work: 800.0% more instructions" if prefix else "work: ")


@pytest.mark.parametrize(
    ("given_", "shown"),
    [
        ("see /home/jo/linux/vmlinux for it", "see vmlinux for it"),
        ("'/home/jo/a.c', (/srv/b/c.c)", "'a.c', (c.c)"),
        ("~/linux/arch and ../other/tree", "arch and tree"),
        ("file=/var/lib/x.img:/root/y", "file=x.img:y"),
        ("/proc/cmdline /sys/kernel/mm /dev/null", "/proc/cmdline /sys/kernel/mm /dev/null"),
        ("init=/init ./work 20 ns/call, and/or", "init=/init ./work 20 ns/call, and/or"),
        ("https://lore.kernel.org/all/a@b/", "https://lore.kernel.org/all/a@b/"),
    ],
)
def test_paths_are_cut_to_their_names(given_: str, shown: str) -> None:
    assert without_paths(given_) == shown


def test_no_path_of_the_machine_is_in_a_mail(tmp_path: Path) -> None:
    secret = str(tmp_path)
    session = exact_session(tmp_path / "s")
    kernels = [
        m.replace(one, spec=f"{secret}/{one.label}/linux", debug_elf=f"{secret}/vmlinux")
        for one in session.manifest.kernels
    ]
    argv = [f"{secret}/work.c", f"{secret}/data", "4"]
    command = ["profdiff", "record", "--kernel", f"base={kernels[0].spec}"]
    command += [f"--kernel=new={kernels[1].spec}", "-o", f"{secret}/out", f"--file={secret}/x:/y"]
    failed = m.replace(
        session.manifest.runs[0],
        id="new-2",
        kernel="new",
        files={},
        failure=m.Failure(kind="workload", message=f"cannot read {secret}/runs/console"),
    )
    session.save(
        m.replace(
            session.manifest,
            kernels=kernels,
            command=[*command, "--", *argv],
            workload=m.replace(session.manifest.workload, argv=argv, kind="source"),
            runs=[*session.manifest.runs, failed],
        )
    )
    opened = Session.open(tmp_path / "s")
    found_ = Findings.of(opened, choose(opened.manifest, None))
    words = ["profdiff", "mail", f"{secret}/s", "-o", f"{secret}/draft.eml"]
    said = letter(found_, MailOptions(words, checklist=True)).render()
    assert secret not in said
    assert tmp_path.name not in said
    assert "--kernel base=6.0.0" in " ".join(said.split())
    assert "-- work.c data 4" in said
    assert "--kernel base=6.0.0" in " ".join(recorded(opened.manifest))
    assert "base: local, build id " in said
    assert "put your own builds in their place" in " ".join(said.split())


def test_a_mail_says_which_kernels_it_is_about(tmp_path: Path) -> None:
    """By what a reader can have: a version of a suite's kernel, a config's hash."""
    session = exact_session(tmp_path / "s")
    config = b"CONFIG_SMP=y\n"
    (session.folder / "base.gz").write_bytes(gzip.compress(config))
    base, new = session.manifest.kernels
    kernels = [
        m.replace(base, spec="/home/alice/linux", config="base.gz"),
        m.replace(new, spec="debian:sid/rt-amd64", release="6.17.13+deb14-rt-amd64"),
    ]
    session.save(m.replace(session.manifest, kernels=kernels))
    opened = Session.open(tmp_path / "s")
    told = Findings.of(opened, choose(opened.manifest, None))
    said = " ".join(letter(told, MailOptions(["profdiff"])).render().split())
    assert f"config sha256 {hashlib.sha256(config).hexdigest()[:12]}" in said
    assert "new: debian:sid/rt-amd64 was Linux 6.17.13+deb14-rt-amd64" in said
    assert "alice" not in said


def test_the_source_is_sent_once() -> None:
    source = Reproducer("work.c", "int main(void) { return 0; }\n")
    assert "int main" in text(found(), reproducer=source)
    assert "int main" not in text(found(), reproducer=source, without=["reproducer"])
    assert "How to reproduce" in text(found())
