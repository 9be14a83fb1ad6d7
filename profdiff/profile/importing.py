"""Recordings that exist as files, as the runs of a session: perf.data, perf script, folded stacks.

The same description serves ``import``, which keeps everything in a session, and ``diff``, which
keeps nothing.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from profdiff import __version__
from profdiff.base import bounded
from profdiff.base.atomic import make_folder, write_atomic
from profdiff.base.cache import symbol_cache
from profdiff.base.errors import InputError
from profdiff.collectors.kernels.files import module_files
from profdiff.collectors.perf.samples import empty, of_data, of_text, sampling
from profdiff.collectors.recorded import Recorded
from profdiff.collectors.records import Measured
from profdiff.profile import not_recorded
from profdiff.profile.folding import folded as folded_chains
from profdiff.profile.kernel_profile import Profile, chosen, common
from profdiff.profile.sampled_profile import (
    by_thread,
    folded_profile,
    metrics_of,
    perf_profile,
    text_profile,
    totals,
)
from profdiff.profile.sampled_profile import folded as folded_samples
from profdiff.session import manifest as m
from profdiff.session.held import refuse_occupied
from profdiff.session.inlines import folded as folds_of
from profdiff.session.inlines import joined
from profdiff.session.session import Session
from profdiff.symbolization import debug_files
from profdiff.symbolization._native import (
    NativeError,
    PerfData,
    PerfText,
    elf_build_id,
    is_perf_data,
)
from profdiff.symbolization.binaries import Binaries
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.debug_files import kernel_debug_elf
from profdiff.symbolization.kernel_chains import KernelSymbols, kernel_build_id
from profdiff.symbolization.perf_reading import opened
from profdiff.symbolization.running_kernel import MAX_KALLSYMS, found_kallsyms
from profdiff.symbolization.symbolizer import symbolize

if TYPE_CHECKING:
    from profdiff.profile.comparison import Comparison

# Threads that are there in every recording.
_NOT_PROGRAMS = ("", "perf", "perf-exec", "swapper", ":-1")


@dataclass(frozen=True)
class GivenRecording:
    """A recording to read, and where its symbols are. ``root``: a folder with the files of the
    machine that was recorded. ``given``: what a person calls it, if that is not its path."""

    label: str
    path: Path
    vmlinux: Path | None = None
    kallsyms: Path | None = None
    modules: Path | None = None
    root: Path | None = None
    given: str = ""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.given or str(self.path)


@dataclass(frozen=True)
class Imported:
    """A source that was read, and what the manifest says of its kernel: a perf.data file with its
    chains, or text. ``trusted``: why its symbols are believed to fit, if nothing proves it.
    ``nameless``: nothing names its kernel's functions."""

    source: GivenRecording
    kernel: m.Kernel
    command: list[str]
    sampling: m.Sampling | None
    recorded: Recorded
    chains: Chains | None = None
    architecture: str = ""
    trusted: str = ""
    nameless: bool = False

    @cached_property
    def program(self) -> str:
        """The thread's name with most samples; those of perf itself and of idle processors count
        only where there are no others. "" for text, which does not tell it."""
        if self.recorded.samples is None:
            return ""
        weights = by_thread(self.recorded.samples)
        names = [name for name in weights if name not in _NOT_PROGRAMS] or list(weights)
        return max(names, key=weights.__getitem__, default="")

    @cached_property
    def profile(self) -> Profile:
        """The profile of its one run. Raises InputError."""
        if self.recorded.text:
            return text_profile(self.recorded.text)
        data, chains = self._samples
        profile = perf_profile(self.recorded, data, chains, lambda: self.recorded)
        profile.remarks.extend(filter(None, [self.trusted, self._addresses]))
        return profile

    @property
    def measured(self) -> list[Measured]:
        """What its samples of each metric stand for. Raises InputError."""
        if self.recorded.samples is not None:
            sums = totals(self.recorded.samples)
        else:
            sums = list(zip(self.profile.metrics, self.profile.totals[0].tolist(), strict=True))
        return [
            Measured(metric.name, metric.unit, metric.better, True, [float(total)])
            for metric, total in sums
        ]

    def without_inlines(self, objects: Collection[str]) -> "Imported":
        """The same without the inlined functions of some objects."""
        if self.chains is None or not objects:
            return self
        return replace(self, chains=folded_chains(self.chains, objects))

    def folded(self, metric: str) -> bytes:
        """Its stacks in FlameGraph's format, of the metric of that name."""
        if self.recorded.text:
            return folded_profile(self.profile, metric)
        return folded_samples(self.recorded, *self._samples, metric)

    @property
    def _addresses(self) -> str:
        return not_recorded.addresses(self.recorded) if self.nameless else ""

    @property
    def _samples(self) -> tuple[PerfData, Chains]:
        if self.recorded.samples is None or self.chains is None:
            raise InputError(f"{self.source.name} holds no recording")
        return self.recorded.samples, self.chains


def read(source: GivenRecording, known: Callable[[], Mapping[str, Path]] = dict) -> Imported:
    """Read and symbolize. ``known``: debug ELFs of kernels by build id, asked for where there is
    none in the usual places. Raises InputError for a file that is none of the formats, is damaged,
    or has other symbols than those given."""
    not_recorded.refuse(source.path)
    try:
        if is_perf_data(str(source.path)):
            return _read_perf(source, known)
        if source.vmlinux or source.kallsyms:
            raise InputError(
                f"{source.name} is text, whose functions have their names already: --vmlinux and "
                "--kallsyms are for perf.data files"
            )
        text = PerfText.open(str(source.path))
    except NativeError as error:
        raise InputError(str(error).replace(str(source.path), source.name)) from error
    # Names alone do not tell what was inlined.
    kernel = m.Kernel(label=source.label, spec=source.name, inlines={})
    return Imported(source, kernel, [], None, of_text(text))


def _read_perf(source: GivenRecording, known: Callable[[], Mapping[str, Path]]) -> Imported:
    data = opened(source.path)
    machine = data.machine
    build_id = kernel_build_id(data)
    trusted = ""
    if source.vmlinux:
        given = elf_build_id(str(source.vmlinux))
        if build_id is None:
            trusted = f"does not say its kernel's build id: {source.vmlinux} is believed to fit"
        elif given != build_id:
            raise InputError(
                f"{source.label}: {source.name} was recorded on a kernel with build id {build_id}, "
                f"{source.vmlinux} has {given or 'none'}: give the vmlinux of that very build"
            )
    debug_elf = source.vmlinux or kernel_debug_elf(build_id, machine["release"])
    if debug_elf is None and build_id:
        debug_elf = known().get(build_id)
    if debug_elf is None and build_id:
        title = f"vmlinux of {source.label} ({build_id[:12]})"
        debug_elf = debug_files.find(build_id, "debuginfo", title)
    if why := empty(data):
        raise InputError(f"{source.name} {why}")
    found = of_data(data)
    symbols = _kernel_symbols(source, data, build_id, debug_elf)
    binaries = _binaries(source, data)
    chains = symbolize(found.places, symbols, binaries, symbol_cache())
    kernel = m.Kernel(
        label=source.label,
        spec=source.name,
        release=machine["release"] or None,
        build_id=build_id,
        debug_elf=str(debug_elf.resolve()) if debug_elf else None,
        inlines=chains.inlines,
    )
    perf = sampling(data)
    return Imported(
        source,
        kernel,
        machine["command"],
        perf,
        found,
        chains,
        architecture=machine["architecture"],
        trusted=trusted,
        nameless=bool(found.places.in_kernel.any()) and not (debug_elf or symbols.kallsyms),
    )


def _kernel_symbols(
    source: GivenRecording, data: PerfData, build_id: str | None, debug_elf: Path | None
) -> KernelSymbols:
    if source.kallsyms:
        try:
            kallsyms = bounded.read(source.kallsyms, MAX_KALLSYMS)
        except OSError as error:
            raise InputError(f"cannot read {source.kallsyms}: {error.strerror}") from error
        not_recorded.refuse_kallsyms(source.kallsyms, kallsyms)
    else:
        kallsyms = found_kallsyms(build_id, data.kernel_mappings)
    return KernelSymbols(debug_elf, kallsyms, module_files(source.modules))


def _binaries(source: GivenRecording, data: PerfData) -> Binaries:
    # Without a build id, only a recording made here can have mapped this machine's files.
    here = data.machine["hostname"] == os.uname().nodename
    same = data.machine["architecture"] == os.uname().machine
    return Binaries(root=source.root, local=same and here)


def wanted_symbols(imported: Sequence[Imported]) -> str:
    """What to give for kernels whose functions have no names, in one line; else nothing."""
    kernels = {one.source.label: one.kernel for one in imported if one.nameless}
    return not_recorded.wanted(list(kernels.values()))


def describe(imported: Sequence[Imported], *, ops: int | None, command: list[str]) -> m.Manifest:
    """The manifest of a session of these recordings, one run each, without files. Those with one
    label are of one kernel, each a boot of its own.

    Raises InputError when they come from different architectures, or recordings with one label from
    different kernels.
    """
    known = {one.architecture: one.source.label for one in imported if one.architecture}
    if len(known) > 1:
        told = ", ".join(f"{label} on {name}" for name, label in known.items())
        raise InputError(f"recorded on different architectures ({told}): they cannot be compared")
    commands = [one.command for one in imported if one.command]
    return m.Manifest(
        schema=m.SCHEMA,
        profdiff=__version__,
        created=m.timestamp(),
        command=command,
        collectors=["import"],
        repeat=max(number for _, number in _numbered(imported)),
        verify=False,
        workload=m.Workload(
            argv=commands[0] if commands else [],
            guest_argv=[],
            kind="imported",
            files=[],
            program=next(filter(None, (one.program for one in imported)), ""),
        ),
        points=[m.Point(ops=ops)],
        kernels=_kernels(imported),
        runs=[
            m.Run(
                id=f"{one.source.label[: 63 - len(str(number))]}-{number}",
                kernel=one.source.label,
                collector="import",
                repetition=number,
                started=m.timestamp(one.source.path.stat().st_mtime),
                wall_seconds=0.0,
                files={},
                sampling=one.sampling,
                program=one.program,
                measured=one.measured,
            )
            for one, number in _numbered(imported)
        ],
    )


def _numbered(imported: Sequence[Imported]) -> list[tuple[Imported, int]]:
    """Each recording, and which of its kernel it is, from 1."""
    seen: Counter[str] = Counter()
    numbers = []
    for one in imported:
        seen[one.source.label] += 1
        numbers.append((one, seen[one.source.label]))
    return numbers


def _kernels(imported: Sequence[Imported]) -> list[m.Kernel]:
    """The kernels, in the order of their first recordings. Raises InputError when recordings with
    one label are of different kernels."""
    kernels: dict[str, m.Kernel] = {}
    for one in imported:
        first = kernels.setdefault(one.source.label, one.kernel)
        inlines = joined([first.inlines, one.kernel.inlines])
        kernels[first.label] = m.replace(first, inlines=inlines)
        ids = (first.build_id, one.kernel.build_id)
        if None not in ids and ids[0] != ids[1]:
            raise InputError(
                f"{one.source.label}: {first.spec} was recorded on a kernel with build id "
                f"{ids[0]}, {one.source.name} on {ids[1]}: give them different labels"
            )
    return list(kernels.values())


def folded(
    imported: Sequence[Imported], metric: str | None = None
) -> list[tuple[str, Callable[[], bytes]]]:
    """The stacks of the first recording of each kernel in FlameGraph's format, made when called: of
    the metric that ``[COLLECTOR:]NAME`` names, or the first. Raises InputError, SessionError."""
    measured = common((one.source.label, metrics_of(one.recorded)) for one in imported)
    name = chosen({f"import:{one.name}": one.name for one in measured}, metric)
    folds = folds_of(_kernels(imported))
    firsts = [one.without_inlines(folds) for one, number in _numbered(imported) if number == 1]
    return [(first.source.label, partial(first.folded, name)) for first in firsts]


def compare(imported: Sequence[Imported], manifest: m.Manifest) -> "list[Comparison]":
    """The comparison, one for each metric. Raises SessionError without a metric in common."""
    from profdiff.profile.comparison import Comparison
    from profdiff.profile.session_facts import with_profiles, workloads
    from profdiff.session.facts import Facts

    by_label: dict[str, list[Profile]] = {}
    runs: dict[str, list[m.Run]] = {}
    folds = folds_of(manifest.compared)
    for one, run in zip(imported, manifest.runs, strict=True):
        by_label.setdefault(run.kernel, []).append(one.without_inlines(folds).profile)
        runs.setdefault(run.kernel, []).append(run)
    profiles = {label: Profile.merged(own) for label, own in by_label.items()}
    return Comparison.build(
        manifest, profiles, runs, with_profiles(Facts(workloads=workloads(manifest)), profiles)
    )


def keep(folder: Path, imported: Sequence[Imported], manifest: m.Manifest) -> Session:
    """A new session in ``folder`` with copies of the recordings and their symbols, whole or not at
    all. Raises InputError when the folder holds something else, OSError.
    """
    refuse_occupied(folder)
    runs = []
    with make_folder(folder) as unfinished:
        session = Session.create(unfinished, manifest)
        for one, run in zip(imported, manifest.runs, strict=True):
            place = session.run_folder(run.id)
            name = "stacks.txt" if one.recorded.text else "perf.data"
            shutil.copyfile(one.source.path, place / name)
            files = {"stacks" if one.recorded.text else "perf-data": f"runs/{run.id}/{name}"}
            if one.chains:
                one.chains.save(place / "symbols.npz")
                files["symbols"] = f"runs/{run.id}/symbols.npz"
            if one.source.kallsyms:
                write_atomic(place / "kallsyms", bounded.read(one.source.kallsyms, MAX_KALLSYMS))
                files["kallsyms"] = f"runs/{run.id}/kallsyms"
            runs.append(m.replace(run, files=files))
        session.save(m.replace(manifest, runs=runs))
    return Session(folder, session.manifest)
