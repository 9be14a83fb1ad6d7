"""The runs of a session that recorded shared lines, and their rows."""

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.collectors.sharing.lines import SharedLines
from profdiff.profile.addresses import Addresses
from profdiff.profile.chain_functions import ChainFunctions
from profdiff.profile.function_identity import Function
from profdiff.profile.kept_chains import chains_of
from profdiff.profile.kept_code import ACCESSES
from profdiff.profile.runs import median_run
from profdiff.profile.sharing.lines import Code, named_sums
from profdiff.profile.sharing.locks import Locks
from profdiff.profile.sharing.names import Name
from profdiff.profile.sharing.recorded import COLLECTOR, FILE, has_lines
from profdiff.profile.sharing.sums import Sums
from profdiff.profile.sharing.variables import Programs
from profdiff.session import points
from profdiff.session.manifest import Kernel, Manifest, Run
from profdiff.session.session import Session
from profdiff.symbolization.binaries import Binaries
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.data_accesses import DataAccesses
from profdiff.symbolization.places import KERNEL_HALF, Places

_NONE = "recorded shared lines: record with --collector sharing --cpus 2"
NOT_RECORDED = f"no run of this session {_NONE}"


class KernelLines(msgspec.Struct, frozen=True):
    """What one kernel's run recorded: the run with the median of transfers, of ``runs``.
    ``missing``: why the data is not known. ``rows``: sums by name; functions are numbers of
    ``functions``. ``differ``: names whose transfers differ from run to run. ``accesses``: what its
    instructions access, None where that is not known."""

    kernel: Kernel
    lines: SharedLines
    runs: int
    missing: str
    functions: list[Function]
    rows: dict[Name, Sums]
    differ: set[Name] = msgspec.field(default_factory=set)
    accesses: DataAccesses | None = None


def chosen(manifest: Manifest, at: str | None) -> points.Setting:
    """The setting that ``at`` names, or the last one that has such runs. Raises InputError where
    there is none."""
    if not has_lines(manifest):
        raise InputError(NOT_RECORDED)
    known = _known(manifest)
    if at is not None:
        return points.named(known or points.settings(manifest), at)
    if not known:
        raise InputError(f"no finished run of this session {_NONE}")
    return known[-1]


def _known(manifest: Manifest) -> list[points.Setting]:
    """The settings that have a finished run of this kind."""
    there = {
        run.point
        for run in manifest.runs
        if run.collector == COLLECTOR and FILE in run.files and not run.failure
    }
    return [setting for setting in points.settings(manifest) if setting.point in there]


def nearest(manifest: Manifest, setting: points.Setting) -> points.Setting:
    """That setting if it has such runs, else the last one that has. Raises InputError where there
    is none."""
    every = [one.point for one in _known(manifest)]
    return setting if setting.point in every else chosen(manifest, None)


def lines_at(session: Session, setting: points.Setting) -> list[KernelLines]:
    """What each kernel recorded that has such runs, the base first, at a setting: of two lengths,
    the longer one.

    Raises InputError where the base has none, SessionError where what is kept is damaged.
    """
    found = []
    for kernel in session.compared:
        runs = [
            run
            for run in session.finished(kernel.label, COLLECTOR)
            if run.point == setting.point and FILE in run.files
        ]
        if runs:
            found.append(_of_runs(session, kernel, runs))
        elif not found:
            raise InputError(f"{kernel.label} has no finished run that {_NONE}")
    return found


def _of_runs(session: Session, kernel: Kernel, runs: list[Run]) -> KernelLines:
    every = [SharedLines.load(session.path(run.files[FILE])) for run in runs]
    totals = np.array([int(one.transfers.sum()) for one in every], np.int64)
    picked = median_run(totals)
    accesses, missing = None, ""
    found: list[tuple[list[Function], dict[Name, Sums]]] = []
    for number in [picked, *(one for one in range(len(runs)) if one != picked)]:
        run, lines = runs[number], every[number]
        places = places_of(lines)
        chains = chains_of(session, run, places)
        if number == picked:
            executed = Addresses(places, chains, lines.executed, (), _no_counts)
            accesses, missing = ACCESSES.known(session, run, executed)
        programs = Programs(_files(session, kernel.label), lines, places)
        found.append(rows_of(lines, accesses, chains, programs))
    (functions, rows), *others = found
    differ = _differ(functions, rows, others)
    return KernelLines(kernel, every[picked], len(runs), missing, functions, rows, differ, accesses)


def _files(session: Session, label: str) -> dict[str, Path]:
    """The ELF files of a kernel's workload, by their path in the guest."""
    files = session.manifest.files_of(label)
    own = {file.guest_path: session.path(file.path) for file in files if file.path}
    return Binaries({guest: path for guest, path in own.items() if path.is_file()}).elf_files()


def _no_counts() -> NDArray[np.int64]:
    return np.zeros((0, 1, 0), np.int64)


def places_of(lines: SharedLines) -> Places:
    """The instructions that accessed: addresses tell those of the kernel apart."""
    code = lines.executed.copy()
    code[lines.address >= KERNEL_HALF] = 0
    return Places.of_code(lines.address, code)


def rows_of(
    lines: SharedLines,
    accesses: DataAccesses | None,
    chains: Chains,
    programs: Programs | None = None,
) -> tuple[list[Function], dict[Name, Sums]]:
    """The functions of a run, and its sums by name."""
    functions = ChainFunctions.of(chains, lines.address >= KERNEL_HALF)
    inner, site, _ = functions.seats()
    rows: dict[Name, Sums] = {}
    code = Code(inner.tolist(), site.tolist(), Locks(lines, functions))
    programs = programs or Programs({}, lines, places_of(lines))
    for name, sums in named_sums(lines, accesses, code, programs):
        rows.setdefault(name, Sums()).add(sums)
    return functions.functions, rows


def _differ(
    functions: list[Function],
    rows: dict[Name, Sums],
    others: list[tuple[list[Function], dict[Name, Sums]]],
) -> set[Name]:
    """The names whose transfers are not the same in all runs."""

    def by_function(own: list[Function], name: Name) -> object:
        return name, own[name.function] if name.function >= 0 else None

    known = {by_function(functions, name): (name, sums.transfers) for name, sums in rows.items()}
    found: set[Name] = set()
    for own, theirs in others:
        transfers = {by_function(own, name): sums.transfers for name, sums in theirs.items()}
        found |= {name for key, (name, mine) in known.items() if transfers.get(key, 0) != mine}
    return found
