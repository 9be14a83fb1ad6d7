"""One kernel in guests that differ on purpose, recorded by the command line."""

import json
from pathlib import Path

import pytest
import whole_run
from support import RESTORED, ROOT, error_line, profdiff

from profdiff.collectors.guest.qemu import Qemu
from profdiff.session.session import Session
from profdiff.session.state import run_facts

HUGE = "transparent_hugepage=always"
COMMAND = ["--ops", "1024", "--", "tests/recording/huge.c"]


def kernels(image: Path, **given: str) -> list[str]:
    return [f"--kernel={label}={image}{text}" for label, text in given.items()]


@pytest.fixture(scope="session")
def variants(new_kernel: Path, qemu: Qemu) -> Path:
    """A kernel as it is, with an argument of its own, and in a guest of its own; all have an
    argument more."""

    def make(folder: Path) -> None:
        every = kernels(
            new_kernel,
            plain="",
            huge=f",append={HUGE}",
            large=",append='hpet=disable,x',memory=2G,cpus=2,cpu=Haswell-v4",
        )
        options = ["--append", "page_alloc.shuffle=0", *RESTORED, "--verify"]
        profdiff("record", *options, *every, "-o", folder / "v.profdiff", *COMMAND, cwd=ROOT)

    return whole_run.once("variants", make) / "v.profdiff"


@pytest.fixture(scope="session")
def session(variants: Path) -> Session:
    return Session.open(variants)


def test_each_guest_has_its_own(session: Session) -> None:
    """Of one image, and each restored from a machine of its own."""
    own = {"plain": "", "huge": f" {HUGE}", "large": " hpet=disable,x"}
    assert len({kernel.image_sha256 for kernel in session.manifest.kernels}) == 1
    for run in session.manifest.runs:
        assert run.failure is None
        line = session.path(run.files["cmdline"]).read_text().strip()
        assert line.endswith(f"page_alloc.shuffle=0{own[run.kernel]}")
        assert run.qemu
        words = run.qemu.arguments
        given = [words[words.index(option) + 1] for option in ("-m", "-smp")]
        assert given == (["2048M", "2"] if run.kernel == "large" else ["1024M", "1"])
        assert ("Haswell-v4" in words[words.index("-cpu") + 1]) == (run.kernel == "large")
    assert session.manifest.guest and session.manifest.guest.restored
    huge = session.manifest.kernels[1].variant
    assert (huge.append, huge.memory, huge.cpus, huge.cpu) == (HUGE, None, None, None)


def test_the_argument_does_what_it_says(session: Session) -> None:
    """A fault for each page of the plain kernel, and for each huge page with it."""
    faults, counts = dict[str, int](), dict[str, set[int]]()
    for run in session.manifest.runs:
        faults[run.kernel] = int(run_facts(session, run)["minor_faults"])
        assert run.instructions
        counts.setdefault(run.kernel, set()).add(run.instructions.kernel)
    assert faults["plain"] - faults["huge"] == 1024 - 2
    assert faults["large"] == faults["plain"]
    assert all(len(found) == 1 for found in counts.values())
    assert counts["huge"].pop() < counts["plain"].pop() / 10


def test_it_is_told_as_meant(variants: Path, tmp_path: Path) -> None:
    shown = " ".join(profdiff("report", variants).stdout.split())
    assert f"huge differs in: {HUGE} " in shown
    assert "large differs in: hpet=disable,x, memory=2048M, cpus=2, cpu=Haswell-v4 " in shown
    assert "state differs, as intended: mm/transparent hugepage/enabled" in shown
    assert "command line otherwise differs" not in shown
    assert "large memory=2048M cpus=2 cpu=Haswell-v4" in shown
    profdiff("report", variants, "--json", tmp_path / "d.json")
    document = json.loads((tmp_path / "d.json").read_text())
    assert [one["variant"]["memory_mib"] for one in document["kernels"]] == [None, None, 2048]
    assert document["facts"]["differences"] == []
    mail = profdiff("mail", variants).stdout
    assert f"append={HUGE}" in mail.replace(" \\\n      ", " ")


def test_a_recording_goes_on_with_the_same_only(
    variants: Path, new_kernel: Path, tmp_path: Path
) -> None:
    again = ["plan", "--append", "page_alloc.shuffle=0", "--verify", "-o", variants]
    other = kernels(new_kernel, plain="", huge=",append=transparent_hugepage=never")
    told = error_line(profdiff(*again, *other, *COMMAND, cwd=ROOT, status=2))
    assert f"holds a recording with huge with {HUGE}: name another folder" in told
    none = kernels(new_kernel, plain="", huge="")
    assert f"huge with {HUGE}" in error_line(profdiff(*again, *none, *COMMAND, cwd=ROOT, status=2))
    more = kernels(new_kernel, plain="", quiet=",append=quiet")
    assert "2 to do" in profdiff(*again, *more, *COMMAND, cwd=ROOT).stdout


@pytest.mark.parametrize(
    ("given", "more", "told"),
    [
        (",cpus=2", ["--cpus", "1,2"], "cpus=2 is one kernel's, and --cpus 1,2 sweeps"),
        (",cpus=4", ["--collector", "sharing", "--cpus", "2"], "does not compare (a 2, b 4)"),
        (
            ",cpus=1",
            ["--collector", "timed", "--copies", "2", "--cpus", "2"],
            "--copies 2: b has cpus=1",
        ),
        (",cpu=no-such", [], "b: cpu=no-such: QEMU cannot emulate it"),
        (",memory=9999G", [], "b: memory=10238976M: this machine has"),
    ],
)
def test_what_does_not_compare_is_refused(
    new_kernel: Path, qemu: Qemu, tmp_path: Path, given: str, more: list[str], told: str
) -> None:
    every = kernels(new_kernel, a="", b=given)
    where = ["-o", tmp_path / "s.profdiff"]
    found = profdiff("plan", *every, *more, *where, *COMMAND, cwd=ROOT, status=2)
    assert told in error_line(found)
