"""The exact collector: every instruction between two marks, counted by QEMU's TCG with a plugin."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click

from profdiff.base.errors import InputError, MissingError, ProfdiffError
from profdiff.base.metric import EXACT, IDLE, INSTRUCTIONS
from profdiff.collectors.collector import Collector, Options
from profdiff.collectors.probe.entry import PROBE

if TYPE_CHECKING:
    from profdiff.collectors.architecture import Architecture
    from profdiff.collectors.guest.qemu import Qemu
    from profdiff.collectors.guest.result import Left, Result
    from profdiff.collectors.kernels.files import KernelFiles
    from profdiff.collectors.machine.environment import Environment, Finding
    from profdiff.collectors.recorded import Recorded

_FILE = "counts.bin"
# Which the plugin makes of that, where they are wanted.
_PROBES, _ALLOCATIONS = "counts.probes", "counts.memory"
_OF_COMMAND = ("usage", "vmstat-before", "vmstat-after", "stdout", "stderr")


class Exact(Collector):
    """Guests only: exact counts need emulation."""

    name = "exact"
    kind = EXACT
    metric = INSTRUCTIONS
    help = "every instruction, counted by QEMU"
    how = "every instruction in the measured window, counted by QEMU TCG"
    short_how = "QEMU TCG"
    options: ClassVar[Sequence[click.Option]] = (
        click.Option(
            ["--call-tree/--no-call-tree"],
            default=True,
            help="Record who called whom with exact counts. Recording takes about 40% longer.",
        ),
        PROBE,
        click.Option(
            ["--allocations"],
            is_flag=True,
            help="Also record how many bytes slab caches, and how many pages the page allocator, "
            "allocate and free. Needs QEMU 9 or later, and x86-64.",
        ),
        click.Option(
            ["--boot"],
            is_flag=True,
            help="Record how kernels boot, instead of a COMMAND: from start_kernel() to the first "
            "instruction of init. Each kernel boots twice, or more often with --repeat.",
        ),
        click.Option(
            ["--boot-until"],
            metavar="TEXT",
            help="With --boot, count until TEXT appears on the serial console, even after init has "
            "started, instead of to init's first instruction.",
        ),
    )
    failures = ("window",)
    profiles = True

    def refusal(self, architecture: Architecture | None) -> str | None:
        if architecture is None:
            return "--collector exact boots kernels in guests; it cannot record a machine"
        return None

    def emulator(self, architecture: Architecture, program: Path | None) -> Qemu:
        from profdiff.collectors.guest.plugin import with_plugin

        qemu = with_plugin(architecture, program, "calls=off")
        if qemu.plugin_api == 1 and counts_elsewhere(qemu.version):
            raise MissingError(
                f"{qemu.program} ({qemu.version}) counts code that is mapped at several addresses "
                "at only one of them: use QEMU 9 or later, or 7.2.9 or a later 7.2 (profdiff "
                "doctor says where there is one)"
            )
        return qemu

    def qemu_arguments(
        self,
        qemu: Qemu,
        options: Options,
        folder: Path,
        repetition: int = 1,
        kernel: KernelFiles | None = None,
    ) -> list[str]:
        how = f"calls={'on' if options['call_tree'] else 'off'}"
        if (wanted := options.get("probe")) and kernel:
            from profdiff.collectors.exact import probes

            how += probes.arguments(kernel, qemu.architecture.name, wanted)
        if options.get("allocations") and kernel:
            from profdiff.collectors.exact import allocations

            how += allocations.arguments(kernel)
        if options.get("boot") and kernel:
            how += f",boot={boot_address(kernel):x}"
            if until := options.get("boot_until"):
                how += f",until={until.encode().hex()}"
        return self.plugin_arguments(qemu, folder, how)

    def refuse(self, kernels: Sequence[KernelFiles], options: Options, qemu: Qemu | None) -> None:
        if options.get("boot") and qemu is not None:
            if qemu.architecture.name != "x86_64":
                told = qemu.architecture.told
                raise InputError(f"--boot: {told} guests are not supported, only x86-64 ones")
            for kernel in kernels:
                boot_address(kernel)
        wanted = [name for name in ("probe", "allocations") if options.get(name)]
        if not wanted or qemu is None:
            return
        from profdiff.collectors.exact import allocations, probes
        from profdiff.collectors.programs import newer

        if qemu.plugin_api == 1:
            command = newer(qemu.architecture.emulator)
            install = f": {command}" if command else ", and name it with --qemu"
            raise MissingError(
                f"--{wanted[0]}: plugins of {qemu.version} cannot read registers; install QEMU 9 "
                f"or later{install}"
            )
        if "probe" in wanted:
            probes.refuse(kernels, qemu.architecture.name, options["probe"])
        if "allocations" in wanted:
            allocations.refuse(kernels, qemu.architecture.name)

    def plugin_arguments(self, qemu: Qemu, folder: Path, how: str) -> list[str]:
        """QEMU's, to count so into ``folder``. Raises MissingError."""
        from profdiff.collectors.guest.plugin import arguments

        return arguments(qemu, folder / _FILE, how)

    def findings(
        self, architecture: Architecture | None, environment: Environment | None
    ) -> list[Finding]:
        from profdiff.collectors.machine.environment import Finding
        from profdiff.collectors.programs import newer

        if architecture is None or self.refusal(architecture):
            return []
        try:
            qemu = self.emulator(architecture, None)
        except ProfdiffError as error:
            mended = newer(architecture.emulator)
            return [Finding("exact counts", "missing", str(error), mended)]
        told = f"plugin API {qemu.plugin_api}: {qemu.version}, {qemu.program}"
        found = [Finding("exact counts", "ok", told)]
        command = newer(architecture.emulator)
        if qemu.without and architecture.flaw:
            told = f"guests go without it, since this QEMU loses {architecture.flaw.told}"
            found.append(Finding(" ".join(qemu.without), "note", told, command))
        if qemu.plugin_api == 1 and command:
            told = (
                "for --probe and --allocations, and to count as another machine with QEMU 10 does"
            )
            found.append(Finding("newer QEMU", "note", told, command))
        return found

    def judge(self, left: Left) -> Result:
        """Raises OSError and MissingError when the disk is full."""
        from profdiff.collectors.exact import context
        from profdiff.collectors.exact.counts import Counts
        from profdiff.collectors.guest.plugin import recorded
        from profdiff.collectors.records import Instructions, Measured

        result = super().judge(left)
        if left.failure:
            return result
        counts, result = recorded(result, left, "counts", _FILE, Counts.load)
        kept = {**left.files, "counts": _FILE}
        if left.options.get("boot"):
            # What was seen of the command that ran behind the boot says nothing of that.
            kept = {what: name for what, name in kept.items() if what not in _OF_COMMAND}
        result = replace(result, files=kept)
        if result.failure:
            return result
        for what, file in (("probes", _PROBES), ("allocations", _ALLOCATIONS)):
            if (left.folder / file).exists():
                result = replace(result, files={**result.files, what: file})
        entries = context.Entries.of_kallsyms(left.read("kallsyms"))
        beside = None
        interrupts = entries.interrupts(counts.address, counts.count) if len(entries) else None
        if own := context.own_context(counts, entries):
            counts, beside = own
            entries.save(left.folder / context.FILE)
            result = replace(result, files={**result.files, context.FILE: context.FILE})
        kernel = int(counts.count[counts.in_kernel].sum())
        user = int(counts.count[~counts.in_kernel].sum())
        metric = self.metric
        total = Measured(metric.name, metric.unit, metric.better, True, [float(kernel + user)])
        instructions = Instructions(
            kernel=kernel,
            user=user,
            each_iteration=int(counts.each_iteration.sum()),
            beside=beside,
            interrupts=interrupts,
        )
        measured, clock = [total], counts.clock
        # Where vCPUs take turns at random places, each boot waits elsewhere.
        if clock is not None and self.kind.repeatable:
            idle = [float(clock.idle)]
            measured.append(Measured(IDLE.name, IDLE.unit, IDLE.better, True, idle))
        return replace(result, instructions=instructions, clock=clock, measured=measured)

    def read(self, files: Mapping[str, Path]) -> Recorded | None:
        from profdiff.collectors.exact import context
        from profdiff.collectors.exact.counts import Counts
        from profdiff.collectors.recorded import Recorded
        from profdiff.symbolization.places import Places

        if "counts" not in files:
            return None
        counts, beside = Counts.load(files["counts"]), None
        if context.FILE in files:
            entries = context.Entries.load(files[context.FILE])
            if own := context.own_context(counts, entries):
                beside = context.beside(counts, own[0])
                counts = own[0]
        places = Places.of_code(counts.address, counts.code)
        column = counts.count[:, None]
        return Recorded(
            (self.metric,),
            places,
            counts.executed,
            lambda: column,
            counts.calls,
            iterations=counts.each_iteration - counts.count,
            taken=counts.taken,
            untold=counts.untold,
            beside=beside,
        )


def boot_address(kernel: KernelFiles) -> int:
    """Where a kernel's boot begins to be counted. Raises InputError."""
    from profdiff.base.cache import symbol_cache
    from profdiff.symbolization._native import NativeError, SymbolIndex

    if kernel.debug_elf is None:
        raise InputError(
            f"--boot: {kernel.label} has no debug ELF that says where start_kernel() is: name "
            "IMAGE,vmlinux=ELF"
        )
    try:
        index = SymbolIndex.open(str(kernel.debug_elf), str(symbol_cache() or "") or None)
    except NativeError as error:
        raise InputError(f"{kernel.label}: {error}") from error
    address = index.symbol_address("start_kernel")
    if address is None:
        raise InputError(f"--boot: {kernel.debug_elf} has no symbol start_kernel")
    return address


def counts_elsewhere(version: str) -> bool:
    """Whether a QEMU with plugin API 1 and this version line shares translations between the
    addresses where a page is mapped (docs/exact-collector.md). Nothing but its version tells: its
    plugins cannot read the program counter, and no guest runs before one is chosen."""
    match = re.search(r"version (\d+)\.(\d+)\.(\d+)", version)
    numbers = tuple(map(int, match.groups())) if match else ()
    return (7, 2, 0) <= numbers < (7, 2, 9) or numbers >= (8,)
