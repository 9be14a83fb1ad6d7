"""Values of variables where functions begin, and what functions return, read by the plugin on QEMU
10: known answers, and what cannot be read."""

import json
import shlex
from pathlib import Path

import pytest
import whole_run
from hypothesis import given
from hypothesis import strategies as st
from qemus import QEMU_10, another_qemu
from support import EXAMPLE, error_line, profdiff
from tables import rows, tables

from profdiff.base.errors import InputError, SessionError
from profdiff.collectors.architecture import ARM64, X86_64
from profdiff.collectors.exact import probes
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.exact.probes import Values
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.probe.entry import ProbedVariable
from profdiff.session.session import Session

FUNCTION = "prot_commit_flush_ptes"
PAGES, ROUNDS = 100, 5
RETURNS, CHILDREN = Path(__file__).parent / "returns.c", 4


def files(label: str, folder: Path) -> KernelFiles:
    return KernelFiles(label, str(folder), folder / "bzImage", folder / "vmlinux.zst")


@pytest.fixture(scope="module")
def both(old_kernel: Path, new_kernel: Path) -> list[KernelFiles]:
    return [files("old", old_kernel), files("new", new_kernel)]


@pytest.mark.guest
@pytest.mark.network
def test_the_known_answer(old_kernel: Path, new_kernel: Path) -> None:
    """Pages of 4 KiB are flushed one by one: ``nr_ptes`` is 1 in every call, as a published thread
    found. v6.12.107 has no such function, which is not 0 calls of it."""
    this = another_qemu(QEMU_10, X86_64)

    def record(made: Path) -> None:
        kernels = ["--kernel", f"old={old_kernel}", "--kernel", f"new={new_kernel}"]
        asked = [f"{FUNCTION} nr_ptes", f"{FUNCTION} idx", "change_protection_range addr"]
        given = [word for one in asked for word in ("--probe", one)]
        workload = [EXAMPLE, str(4 * PAGES), str(ROUNDS)]
        program = ["--qemu", this.program]
        profdiff("record", "-o", made / "session", *program, *kernels, *given, "--", *workload)

    session = whole_run.once("probes", record) / "session"
    document = json.loads(profdiff("report", session, "--json", "-").stdout)
    nr_ptes, idx, addr = tables(document, "probes")
    opened = Session.open(session)
    run = next(run for run in opened.manifest.runs if run.kernel == "new")
    counts = Counts.load(opened.path(run.files["counts"]))
    begin = probes.places(
        files("new", new_kernel), "x86_64", ProbedVariable(FUNCTION, "nr_ptes")
    ).begins[0]
    calls = int(counts.count[counts.address == begin.address].sum())
    assert calls == PAGES * ROUNDS
    assert nr_ptes["kernels"] == ["new"]
    assert rows(nr_ptes, "sums")[0]["calls"] == {"new": calls}
    assert rows(nr_ptes) == [{"nr_ptes": "1", "low": 1, "high": 1, "calls": {"new": calls}}]
    # On the stack, behind the return address.
    assert rows(idx) == [{"idx": "0", "low": 0, "high": 0, "calls": {"new": calls}}]
    # Two calls for each round: to protect, and back.
    (whole,) = rows(addr, "sums")
    assert whole["calls"]["old"] == whole["calls"]["new"]
    assert all(row["low"] > 0 for row in rows(addr))
    text = profdiff("report", session).stdout
    assert f"{FUNCTION} nr_ptes, calls" in text
    assert f"nr_ptes of {FUNCTION} cannot be read on old." in text
    said = profdiff("check", session, "--fail-if", 'probes-2:"all calls" > +0').stdout
    assert "{old:,} to {new:,}".format(**whole["calls"]) in said
    said = profdiff("check", session, "--fail-if", "probes-0:1 > +0", status=125).stdout
    assert "1 is not known of old" in said


@pytest.mark.guest
@pytest.mark.network
def test_what_functions_return(old_kernel: Path, new_kernel: Path, tmp_path: Path) -> None:
    """``__x64_sys_read()`` jumps to ``ksys_read()``, which returns for both. A child's last system
    call never returns, and the next child begins on its stack."""
    asked = ["ksys_read return", "__x64_sys_read return", "do_syscall_64 return"]
    given = [word for one in asked for word in ("--probe", one)]
    program = ["--qemu", another_qemu(QEMU_10, X86_64).program]
    kernels = ["--kernel", f"old={old_kernel}", "--kernel", f"new={new_kernel}"]
    session = tmp_path / "session"
    profdiff("record", "-o", session, *program, *kernels, *given, "--", RETURNS)
    document = json.loads(profdiff("report", session, "--json", "-").stdout)
    every = dict(zip(asked, tables(document, "probes"), strict=True))
    opened = Session.open(session)
    for label, folder in (("old", old_kernel), ("new", new_kernel)):
        run = next(run for run in opened.manifest.runs if run.kernel == label)
        counts = Counts.load(opened.path(run.files["counts"]))
        known = {}
        for wanted, found in every.items():
            (begin,) = probes.places(
                files(label, folder), "x86_64", ProbedVariable.parse(wanted)
            ).begins
            calls = int(counts.count[counts.address == begin.address].sum())
            read = {row["low"]: row["calls"][label] for row in rows(found)}
            unread = read.pop(None, 0)
            assert rows(found, "sums")[0]["calls"][label] == calls
            assert sum(read.values()) + unread == calls
            known[wanted] = (read, unread)
        for wanted in asked[:2]:
            assert known[wanted] == ({-9: 7, 1: 10, 2: 10, 3: 10}, 0)
        read, unread = known[asked[2]]
        assert read.keys() <= {0, 1}
        assert unread == CHILDREN
    text = profdiff("report", session).stdout
    assert "do_syscall_64 return, calls" in text
    assert "not known: calls of inlined copies, and calls that have not returned." in text


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("one", "--probe 'one': give a function and one of its variables"),
        ("no_such_function x", "--probe 'no_such_function x': no kernel has a function"),
        (f"{FUNCTION} x", f"{FUNCTION} has no variable x; it has addr, idx, nr_ptes, oldpte, "),
        (
            "mprotect_folio_pte_batch max_nr_ptes",
            "nothing holds it at any of the 2 places where the function begins; at "
            "ffffffff813d008d in change_protection_range on new, ",
        ),
        (f"{FUNCTION} return", f"--probe '{FUNCTION} return': {FUNCTION} returns nothing"),
        ("mprotect_folio_pte_batch return", " on new, an inlined copy does not return"),
        ("ns_to_timespec64 return", " on old, it is no number"),
    ],
)
def test_what_cannot_be_read_is_refused(both: list[KernelFiles], wanted: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        probes.refuse(both, "x86_64", [wanted])
    assert said in str(refused.value)


@pytest.mark.kernel
@pytest.mark.parametrize("variable", ["count", "return"])
def test_arm64_has_other_registers(arm64_kernel: KernelFiles, variable: str) -> None:
    (begin,) = probes.places(arm64_kernel, ARM64.name, ProbedVariable("ksys_read", variable)).begins
    read = {"count": "value:x2:0:u8", "return": "return:x0:0:s8"}
    assert begin.argument == f"{begin.address:x}:{read[variable]}"


@pytest.mark.kernel
def test_no_debug_elf_is_refused(both: list[KernelFiles]) -> None:
    without = KernelFiles("bare", "bare", Path("bzImage"))
    with pytest.raises(InputError, match="bare has no debug ELF: name IMAGE,vmlinux=ELF"):
        probes.refuse([*both, without], "x86_64", [f"{FUNCTION} nr_ptes"])


@pytest.mark.kernel
def test_more_than_some_are_refused(both: list[KernelFiles]) -> None:
    with pytest.raises(InputError, match="at most 16"):
        probes.refuse(both, "x86_64", [f"{FUNCTION} nr_ptes"] * 17)


@pytest.mark.guest
def test_an_older_qemu_is_refused(
    old_kernel: Path, new_kernel: Path, qemu: Qemu, tmp_path: Path
) -> None:
    if qemu.plugin_api != 1:
        pytest.skip(f"{qemu.version} reads registers")
    kernels = ["--kernel", f"old={old_kernel}", "--kernel", f"new={new_kernel}"]
    given = ["--probe", f"{FUNCTION} nr_ptes", "--", *shlex.split("true")]
    said = error_line(profdiff("record", "-o", tmp_path / "s", *kernels, *given, status=2))
    assert "cannot read registers; install QEMU 9 or later" in said


VALUES = st.builds(
    Values,
    places=st.integers(1, 5),
    calls=st.just(0),
    unread=st.integers(0, 10),
    counts=st.dictionaries(st.integers(-(2**63), 2**64 - 1), st.integers(1, 2**40), max_size=20),
    others=st.integers(0, 2**40),
)


@given(every=st.lists(VALUES, max_size=4))
def test_what_the_plugin_writes_is_read(
    every: list[Values], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Calls of all places add up."""
    path = tmp_path_factory.mktemp("probes") / "counts.probes"
    lines = []
    for number, one in enumerate(every):
        lines += [f"place {number} {0xFFFF0000 + place:016x} 10 0" for place in range(one.places)]
        lines += [f"place {number} {0:016x} {one.unread} {one.unread}"]
        lines += [f"value {number} {value} {count}" for value, count in one.counts.items()]
        lines += [f"others {number} {one.others}"]
    path.write_text("".join(f"{line}\n" for line in lines))
    found = probes.read(path, len(every))
    assert len(found) == len(every)
    for one, other in zip(every, found, strict=True):
        assert (other.places, other.unread) == (one.places, one.unread)
        assert other.calls == 10 * one.places + one.unread
        assert (other.counts, other.others) == (one.counts, one.others)
        assert list(other.counts) == sorted(one.counts)


@pytest.mark.parametrize(
    "text",
    [
        "place",
        "place 0 0 1",
        "place 0 x 1 0",
        "place 0 1 1 2",
        "place 1 1 1 0",
        "value 0 5 0",
        "value 0 5 -1",
        f"value 0 {2**64} 1",
        "others 0 -1",
        "other 0 1",
        "",
        "value 0 é 1",
    ],
)
def test_damage_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "counts.probes"
    path.write_text(f"place 0 1 1 0\n{text}\n")
    with pytest.raises(SessionError, match="is damaged: record this run again"):
        probes.read(path, 1)
