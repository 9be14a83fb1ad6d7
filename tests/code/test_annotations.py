"""Annotations of real sessions: every count is in one row and in one line; what cannot be shown is
said."""

import shutil
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest
from annotation_sums import agree
from classes import compare as compare_code
from extent import examples, is_nightly
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support import profile_pair
from synthetic import KERNEL_BASE, compare, example, frame
from tars import unpack_session

from profdiff.base.errors import InputError
from profdiff.profile import importing
from profdiff.profile.code.kernel_functions import KernelFunctions
from profdiff.profile.comparison import Comparison
from profdiff.profile.recordings import Recordings
from profdiff.reports.annotation.text import render
from profdiff.reports.form import ReportOptions
from profdiff.session.points import settings
from profdiff.session.session import Session
from profdiff.symbolization.places import KERNEL_HALF
from profdiff.views.annotation.making import Annotations
from profdiff.views.annotation.records import Annotation


def agree_all(session: Session | None, comparison: Comparison, step: int = 1) -> int:
    """Annotate functions of a comparison. Returns how many there were."""
    made, number = Annotations(comparison, session), 0
    for row in range(0, len(comparison.functions), step):
        try:
            found = made.annotation(row)
        except InputError:
            assert not comparison.self_[row].any()
            continue
        agree(comparison, row, found)
        number += 1
    return number


def test_a_session_with_counts_and_samples(tmp_path: Path) -> None:
    unpack_session(tmp_path)
    session = Session.open(tmp_path)
    exact, sampled = Recordings(session).comparisons()
    assert agree_all(session, exact) > 200
    assert agree_all(session, sampled) > 30


@pytest.mark.guest
def test_every_function_of_a_recording(whole_command: Path) -> None:
    session = Session.open(whole_command)
    (comparison,) = Recordings(session).comparisons()
    step = 1 if is_nightly() else 4
    assert agree_all(session, comparison, step) > 500


@pytest.mark.guest
def test_three_kernels_of_which_two_are_one(at_a_terminal: Path) -> None:
    folder = next(path.parent for path in at_a_terminal.glob("*/manifest.json"))
    session = Session.open(folder)
    (comparison,) = Recordings(session).comparisons()
    assert agree_all(session, comparison, 3) > 50
    found = Annotations(comparison, session).annotation("change_pte_range")
    base, new, again = found.labels
    # The last kernel is the first one again: nothing of its code is other code.
    assert found.split[again].other == 0
    assert found.split[new].other != 0
    for row in found.rows:
        assert (base in row.count) == (again in row.count)
        if base in row.text:
            assert row.text[base] == row.text[again]


@pytest.mark.guest
def test_samples_of_a_session(counted_and_sampled: Path) -> None:
    session = Session.open(counted_and_sampled)
    exact, sampled = Recordings(session).comparisons()
    assert agree_all(session, exact, 5) > 70
    assert agree_all(session, sampled, 2) > 60


@pytest.mark.kernel
def test_samples_of_imported_files(tmp_path: Path) -> None:
    arguments = profile_pair()
    sources = []
    for at in (0, 3):
        label, _, path = arguments[at].partition("=")
        elf = Path(arguments[at + 2].partition("=")[2])
        sources.append(importing.read(importing.GivenRecording(label, Path(path), vmlinux=elf)))
    manifest = importing.describe(sources, ops=None, command=["profdiff"])
    session = importing.keep(tmp_path / "s", sources, manifest)
    for comparison in Recordings(session).comparisons():
        assert agree_all(session, comparison, 2) > 30
        found = Annotations(comparison, session).annotation("change_pte_range")
        # The debug ELF, moved by KASLR, has what was not sampled and the bytes of what was.
        assert any(not any(row.count.values()) for row in found.rows)
        assert all(text for row in found.rows for text in row.text.values())
        assert not found.notes
        # A recording without kallsyms: the debug ELF names what is called and where jumps lead.
        leads = [
            text
            for row in found.rows
            for text in row.text.values()
            if {"call", "conditional"} & set(row.classes)
        ]
        assert "call flush_tlb_batched_pending" in leads
        assert not [text for text in leads if "0xffff" in text]


@pytest.mark.guest
def test_two_lengths_whose_counts_may_be_negative(
    recorded: Path, counted_and_sampled: Path, tmp_path: Path
) -> None:
    """Runs of two sessions with other arguments, as if one were the shorter of the other."""
    folder = tmp_path / "s"
    shutil.copytree(recorded, folder)
    long, short = Session.open(folder), Session.open(counted_and_sampled)
    runs = [run for run in long.manifest.runs if run.repetition == 1]
    for run in short.manifest.runs:
        if run.collector == "exact":
            name = f"short-{run.id}"
            shutil.copytree(counted_and_sampled / "runs" / run.id, folder / "runs" / name)
            files = {
                what: path.replace(f"runs/{run.id}/", f"runs/{name}/")
                for what, path in run.files.items()
            }
            runs.append(msgspec.structs.replace(run, id=name, point=1, files=files))
    (point,) = long.manifest.points
    points = [
        msgspec.structs.replace(point, shorter=1),
        msgspec.structs.replace(point, ops=20_000),
    ]
    long.save(msgspec.structs.replace(long.manifest, runs=runs, points=points))
    (setting,) = settings(long.manifest)
    (comparison,) = Recordings(long, setting).comparisons()
    assert (comparison.self_ < 0).any()
    assert agree_all(long, comparison, 2) > 200


@pytest.mark.guest
def test_swapped_kernels_have_the_mirrored_split(recorded: Path, tmp_path: Path) -> None:
    session = Session.open(recorded)
    (comparison,) = Recordings(session).comparisons()
    made = Annotations(comparison, session)
    base, new = comparison.labels
    rows = np.argsort(-np.abs(comparison.deltas()[:, 1]))[:40].tolist()
    for row in rows:
        forth = made.annotation(row).split[new]
        back = made.annotation(row, labels=[new, base]).split[base]
        assert (forth.same, forth.other) == (-back.same, -back.other)


@pytest.mark.guest
def test_what_executed_is_shown_as_it_ran_and_the_rest_around_it(recorded: Path) -> None:
    session = Session.open(recorded)
    (comparison,) = Recordings(session).comparisons()
    made = Annotations(comparison, session)
    for name in ("change_pte_range", "commit_anon_folio_batch", "do_mprotect_pkey"):
        found = made.annotation(name)
        for kernel, label in enumerate(found.labels):
            (addresses,) = comparison.addresses[kernel]
            ran = dict(zip(addresses.places.address.tolist(), addresses.executed, strict=True))
            seen: list[tuple[int, int]] = []
            for row in found.rows:
                if label in row.address:
                    address = int(row.address[label], 16)
                    length = int(ran[address][0]) if address in ran else 1
                    seen.append((address, address + length))
            seen.sort()
            # Nothing overlaps, and something was not executed.
            assert all(end <= start for (_, end), (start, _) in pairwise(seen))
            assert not seen or any(start not in ran for start, _ in seen)


@pytest.mark.guest
def test_patched_text_is_shown_as_it_executed(recorded: Path) -> None:
    """With mitigations=off the kernel patches stac and clac, and static branches."""
    session = Session.open(recorded)
    (comparison,) = Recordings(session).comparisons()
    (addresses,) = comparison.addresses[0]
    kernel = addresses.places.address >= KERNEL_HALF
    code = KernelFunctions(comparison, 0, session).known.part
    assert code is not None
    every = code.instructions(np.arange(len(code.start)))
    kept = {a: row.tobytes() for a, row in zip(every.address.tolist(), every.code, strict=True)}
    patched = [
        (address, row)
        for address, row in zip(
            addresses.places.address[kernel].tolist(), addresses.executed[kernel], strict=True
        )
        if kept.get(address) != row.tobytes()
    ]
    assert patched
    texts: dict[int, str] = {}
    made = Annotations(comparison, session)
    for row in range(len(comparison.functions)):
        if not comparison.self_[row, 0] or not comparison.functions[row].in_kernel:
            continue
        base = comparison.labels[0]
        rows = [one for one in made.annotation(row).rows if base in one.text]
        texts.update({int(one.address[base], 16): one.text[base] for one in rows})
    shown = [texts[address] for address, _ in patched if address in texts]
    assert shown
    assert all(shown)


@pytest.mark.guest
def test_without_kept_code_the_debug_elf_has_it_and_without_that_a_note_says_so(
    recorded: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "s"
    shutil.copytree(recorded, folder)
    session = Session.open(folder)
    (comparison,) = Recordings(session).comparisons()
    kept = Annotations(comparison, session).annotation("change_pte_range")

    def with_kernels(**changes: object) -> Annotation:
        kernels = [msgspec.structs.replace(one, **changes) for one in session.manifest.kernels]
        session.save(msgspec.structs.replace(session.manifest, kernels=kernels))
        return Annotations(comparison, session).annotation("change_pte_range")

    assert with_kernels(code=None) == kept
    bare = with_kernels(code=None, debug_elf="/nowhere/vmlinux")
    assert bare.self == kept.self
    assert all(any(row.count.values()) for row in bare.rows)
    assert bare.notes == [
        f"{label}: only code that executed is shown (its debug ELF is gone)"
        for label in comparison.labels
    ]


def test_unknown_names_say_what_is_near() -> None:
    comparison = compare(example())
    made = Annotations(comparison)
    with pytest.raises(InputError, match="no kernel executed a function of that name; did you "):
        made.find("change_pte_rang")
    assert made.find("change_pte_range.isra.0") == made.find("change_pte_range")
    assert made.find("change_pte_range [.isra.0]") == made.find("change_pte_range")


def test_text_has_no_addresses() -> None:
    comparison = compare(example())
    with pytest.raises(InputError, match="names functions, not addresses"):
        Annotations(comparison).annotation("change_pte_range")


@pytest.mark.guest
def test_inlined_functions_are_shown_where_they_are(recorded: Path) -> None:
    session = Session.open(recorded)
    (comparison,) = Recordings(session).comparisons()
    made = Annotations(comparison, session)
    every = made.annotation("arch_atomic_read")
    assert len(every.places) > 3
    place = next(place for place in every.places if len(place.chain) > 1)
    some = made.annotation("arch_atomic_read", inlined_at="→".join(place.chain[:-1]))
    assert all(place.chain[:-1] == one.chain[:-1] for one in some.places)
    assert some.self == {
        label: sum(one.self[label] for one in some.places) for label in some.labels
    }
    assert any("left out" in note for note in some.notes)
    with pytest.raises(InputError, match="arch_atomic_read is not inlined at nowhere; it is at "):
        made.annotation("arch_atomic_read", inlined_at="nowhere")
    with pytest.raises(InputError, match="no kernel has that label; known: base, new"):
        made.annotation("arch_atomic_read", labels=["other"])


# Of a branch on one kernel: how often it jumped, did not, and did what is not known.
WAYS = st.tuples(*[st.integers(0, 3)] * 3)


@hypothesis_settings(max_examples=examples(60))
@given(st.lists(st.tuples(WAYS, WAYS), min_size=1, max_size=6))
def test_a_branch_is_told_only_where_all_its_executions_are(
    branches: list[tuple[tuple[int, int, int], tuple[int, int, int]]],
) -> None:
    """Where that is a part of them, or none, nothing is said, and a note counts such branches."""
    labels = ("base", "new")
    work = [frame("work")]
    columns = dict(zip(labels, zip(*branches, strict=True), strict=True))
    rows = {
        label: [((work, "work", True, [sum(one)]), "je") for one in own]
        + [((work, "work", True, [7]), "nop")]
        for label, own in columns.items()
    }
    # What is no conditional branch has neither, whatever a file says.
    taken = {label: [[one[0]] for one in own] + [[0]] for label, own in columns.items()}
    untold = {label: [[one[2]] for one in own] + [[1]] for label, own in columns.items()}
    found = Annotations(compare_code(rows, taken=taken, untold=untold)).annotation("work")
    seen: dict[str, list[int]] = {label: [] for label in labels}
    unknown = 0
    for row in found.rows:
        number = {
            label: (int(address, 16) - KERNEL_BASE) // 4 for label, address in row.address.items()
        }
        told = {
            label: columns[label][at][0]
            for label, at in number.items()
            if at < len(branches) and not columns[label][at][2]
        }
        assert row.taken == (told or None)
        unknown += any(columns[label][at][2] for label, at in number.items() if at < len(branches))
        for label, at in number.items():
            seen[label].append(at)
    assert all(sorted(own) == [*range(len(branches) + 1)] for own in seen.values())
    notes = [note for note in found.notes if "it is not known whether" in note]
    said = {0: [], 1: ["of 1 branch it is not known whether it jumped"]}
    assert notes == said.get(
        unknown, [f"of {unknown} branches it is not known whether they jumped"]
    )


def test_no_share_is_shown_of_a_branch_that_is_untold() -> None:
    work = [frame("work")]
    rows = {
        label: [((work, "work", True, [10]), "je"), ((work, "work", True, [20]), "je")]
        for label in ("base", "new")
    }
    taken = {"base": [[0], [0]], "new": [[4], [0]]}
    untold = {"base": [[10], [20]], "new": [[0], [20]]}
    found = Annotations(compare_code(rows, taken=taken, untold=untold)).annotation("work")
    lines = [line.text for line in render(found, ReportOptions(width=100))]
    first, second = (line for line in lines if " je " in line)
    assert first.endswith("  taken - / 4 of 10")
    assert "taken" not in second
    assert "of 2 branches it is not known whether they jumped" in " ".join(lines)
    assert not any("jumps that were taken" in line for line in lines)
