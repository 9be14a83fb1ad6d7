"""Recordings that exist as files, as the runs of a session: perf.data, perf script, folded stacks.

The same description serves ``import``, which keeps everything in a session, and ``diff``, which
keeps nothing.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from profdiff import __version__
from profdiff.base import bounded
from profdiff.base.atomic import make_folder, write_atomic
from profdiff.base.cache import symbol_cache
from profdiff.base.errors import InputError
from profdiff.collectors.kernels.files import module_files
from profdiff.collectors.perf.samples import of_data, of_text, sampling
from profdiff.collectors.recorded import Recorded
from profdiff.profile.comparison import Comparison
from profdiff.profile.kernel_profile import Profile
from profdiff.profile.sampled_profile import folded, folded_profile, perf_profile, text_profile
from profdiff.profile.session_facts import with_profiles
from profdiff.session import manifest as m
from profdiff.session.facts import Facts
from profdiff.session.folder import Session
from profdiff.symbolization._native import (
    NativeError,
    PerfData,
    PerfText,
    elf_build_id,
    is_perf_data,
)
from profdiff.symbolization.binaries import Binaries, kernel_debug_elf
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_chains import KernelSymbols, kernel_build_id
from profdiff.symbolization.running_kernel import running_build_id, running_kallsyms
from profdiff.symbolization.symbolizer import symbolize

# The running kernel of a cloud machine, with 122,000 symbols, prints 5.4 MB.
_MAX_KALLSYMS = 256 << 20


@dataclass(frozen=True)
class Source:
    """A recording to read, and where its symbols are. ``root``: a folder with the files of the
    machine that was recorded."""

    label: str
    path: Path
    vmlinux: Path | None = None
    kallsyms: Path | None = None
    modules: Path | None = None
    root: Path | None = None


@dataclass(frozen=True)
class Imported:
    """A source that was read, and what the manifest says of its kernel: a perf.data file with its
    chains, or text. ``trusted``: why its symbols are believed to fit, if nothing proves it."""

    source: Source
    kernel: m.Kernel
    command: list[str]
    sampling: m.Sampling | None
    recorded: Recorded
    chains: Chains | None = None
    architecture: str = ""
    trusted: str = ""

    @cached_property
    def profile(self) -> Profile:
        """The profile of its one run. Raises InputError."""
        if self.recorded.text:
            return text_profile(self.recorded.text)
        data, chains = self._samples
        profile = perf_profile(self.recorded, data, chains, lambda: self.recorded)
        profile.remarks.extend([self.trusted] if self.trusted else [])
        return profile

    def folded(self) -> bytes:
        """Its stacks in FlameGraph's format."""
        if self.recorded.text:
            return folded_profile(self.profile)
        return folded(self.recorded, *self._samples)

    @property
    def _samples(self) -> tuple[PerfData, Chains]:
        if self.recorded.samples is None or self.chains is None:
            raise InputError(f"{self.source.path} holds no recording")
        return self.recorded.samples, self.chains


def read(source: Source) -> Imported:
    """Read and symbolize. Raises InputError for a file that is none of the formats, is damaged, or
    has other symbols than those given."""
    if source.path.is_dir():
        raise InputError(
            f"{source.path} is a folder: what perf record --threads makes is not read (record "
            "without it); a session is for profdiff report"
        )
    try:
        if is_perf_data(str(source.path)):
            return _read_perf(source)
        if source.vmlinux or source.kallsyms:
            raise InputError(
                f"{source.path} is text, whose functions have their names already: --vmlinux and "
                "--kallsyms are for perf.data files"
            )
        text = PerfText.open(str(source.path))
    except NativeError as error:
        raise InputError(str(error)) from error
    kernel = m.Kernel(label=source.label, spec=str(source.path))
    return Imported(source, kernel, [], None, of_text(text))


def _read_perf(source: Source) -> Imported:
    data = PerfData.open(str(source.path))
    machine = data.machine
    build_id = kernel_build_id(data)
    trusted = ""
    if source.vmlinux:
        given = elf_build_id(str(source.vmlinux))
        if build_id is None:
            trusted = f"does not say its kernel's build id: {source.vmlinux} is believed to fit"
        elif given != build_id:
            raise InputError(
                f"{source.label}: {source.path} was recorded on a kernel with build id {build_id}, "
                f"{source.vmlinux} has {given or 'none'}: give the vmlinux of that very build"
            )
    debug_elf = source.vmlinux or kernel_debug_elf(build_id, machine["release"])
    found = of_data(data)
    symbols, binaries = _kernel_symbols(source, build_id, debug_elf), _binaries(source, data)
    chains = symbolize(found.places, symbols, binaries, symbol_cache())
    kernel = m.Kernel(
        label=source.label,
        spec=str(source.path),
        release=machine["release"] or None,
        build_id=build_id,
        debug_elf=str(debug_elf.resolve()) if debug_elf else None,
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
    )


def _kernel_symbols(source: Source, build_id: str | None, debug_elf: Path | None) -> KernelSymbols:
    kallsyms = b""
    if source.kallsyms:
        try:
            kallsyms = bounded.read(source.kallsyms, _MAX_KALLSYMS)
        except OSError as error:
            raise InputError(f"cannot read {source.kallsyms}: {error.strerror}") from error
    elif build_id and build_id == running_build_id():
        kallsyms = running_kallsyms()
    return KernelSymbols(debug_elf, kallsyms, module_files(source.modules))


def _binaries(source: Source, data: PerfData) -> Binaries:
    # Without a build id, only a recording made here can have mapped this machine's files.
    here = data.machine["hostname"] == os.uname().nodename
    same = data.machine["architecture"] == os.uname().machine
    return Binaries(root=source.root, local=same and here)


def describe(imported: Sequence[Imported], *, ops: int | None, command: list[str]) -> m.Manifest:
    """The manifest of a session of these recordings, one run each, without files.

    Raises InputError when they come from different architectures.
    """
    known = {one.architecture: one.source.label for one in imported if one.architecture}
    if len(known) > 1:
        told = ", ".join(f"{label} on {name}" for name, label in known.items())
        raise InputError(f"recorded on different architectures ({told}): they do not compare")
    commands = [one.command for one in imported if one.command]
    return m.Manifest(
        schema=m.SCHEMA,
        profdiff=__version__,
        created=m.timestamp(),
        command=command,
        collectors=["import"],
        repeat=1,
        verify=False,
        workload=m.Workload(
            argv=commands[0] if commands else [],
            guest_argv=[],
            kind="imported",
            files=[],
        ),
        points=[m.Point(ops=ops)],
        kernels=[one.kernel for one in imported],
        runs=[
            m.Run(
                id=one.source.label[:60] + "-1",
                kernel=one.source.label,
                collector="import",
                repetition=1,
                started=m.timestamp(one.source.path.stat().st_mtime),
                wall_seconds=0.0,
                files={},
                sampling=one.sampling,
            )
            for one in imported
        ],
    )


def compare(imported: Sequence[Imported], manifest: m.Manifest) -> list[Comparison]:
    """The comparison, one for each metric. Raises SessionError without a metric in common."""
    profiles: Mapping[str, Profile] = {one.source.label: one.profile for one in imported}
    runs = {run.kernel: [run] for run in manifest.runs}
    return Comparison.build(manifest, profiles, runs, with_profiles(Facts(), profiles))


def keep(folder: Path, imported: Sequence[Imported], manifest: m.Manifest) -> Session:
    """A new session in ``folder`` with copies of the recordings and their symbols, whole or not at
    all. Raises InputError when the folder holds something else, OSError.
    """
    Session.refuse_occupied(folder)
    runs = []
    with make_folder(folder.resolve()) as unfinished:
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
                write_atomic(place / "kallsyms", bounded.read(one.source.kallsyms, _MAX_KALLSYMS))
                files["kallsyms"] = f"runs/{run.id}/kallsyms"
            runs.append(m.replace(run, files=files))
        session.save(m.replace(manifest, runs=runs))
    return Session(folder, session.manifest)
