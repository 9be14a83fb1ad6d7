"""Runs in restored machines, below the command line."""

import select
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import whole_run

from profdiff.base.cache import cache_folder
from profdiff.collectors import registry
from profdiff.collectors.guest import initramfs
from profdiff.collectors.guest.boot import NO_VARIATION, Variation
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.guest.result import Result
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.recorder import Recorder, RunJob, Running
from profdiff.collectors.records import Guest
from profdiff.collectors.workload.workload import prepare

# A shell's command that lets the guest panic: the kernel does where a group is out of memory, too
# (Documentation/admin-guide/sysctl/vm.rst), and a small one soon is.
PANICS = """
mkdir /work/groups
mount -t cgroup2 none /work/groups
echo +memory > /work/groups/cgroup.subtree_control
mkdir /work/groups/small
echo 4M > /work/groups/small/memory.max
echo 0 > /work/groups/small/cgroup.procs
echo 2 > /proc/sys/vm/panic_on_oom
tail /dev/zero
"""
# The machine of the command line, which is saved once for both.
GUEST = Guest(memory=1024, append="", settle=5.0, timeout=300, restored=True)


@dataclass
class Restorer:
    """Runs on the kernel ``image`` under ``qemu``, each in a new folder below ``folder``.
    ``vmlinux``: the kernel has a debug ELF, beside the image."""

    qemu: Qemu
    image: Path
    folder: Path
    guest: Guest = GUEST
    cpus: int = 1
    calls: bool = True
    observe: bool = False
    made: int = 0
    collector: str = "exact"
    options: Mapping[str, object] = field(default_factory=dict)
    vmlinux: bool = False

    def recorder(self, command: Sequence[str | Path]) -> Recorder:
        """For runs of ``command``."""
        folders = cache_folder("workloads"), initramfs.guest_resources()
        workload = prepare([*map(str, command)], [], *folders, self.qemu.architecture)
        collector, work = registry.collector(self.collector), self.folder / "work"
        options = {"call_tree": self.calls, "line_size": 64, **self.options}
        guest, qemu = self.guest, self.qemu
        return Recorder(collector, options, workload, guest, qemu, self.observe, work)

    def start(
        self,
        command: Sequence[str | Path],
        variation: Variation = NO_VARIATION,
        repetition: int = 1,
    ) -> tuple[Running, Path]:
        """A run of ``command``, and its folder."""
        self.made += 1
        folder = self.folder / str(self.made)
        folder.mkdir(parents=True)
        recorder = self.recorder(command)
        debug_elf = self.image.parent / "vmlinux" if self.vmlinux else None
        kernel = KernelFiles("k", str(self.image), self.image, debug_elf=debug_elf)
        argv = recorder.workload.guest_argv
        job = RunJob(kernel, argv, self.cpus, folder, variation, repetition)
        return recorder.start(job), folder

    def run(
        self,
        command: Sequence[str | Path],
        variation: Variation = NO_VARIATION,
        repetition: int = 1,
    ) -> tuple[Result, Path]:
        """One that has ended, and its folder."""
        with whole_run.processors(1):
            running, folder = self.start(command, variation, repetition)
            wait(running)
        return running.finish(), folder

    def counts(self, command: Sequence[str | Path], variation: Variation = NO_VARIATION) -> bytes:
        """The counts file of a run that went well."""
        result, folder = self.run(command, variation)
        assert result.failure is None
        return (folder / "counts.bin").read_bytes()

    def with_guest(self, folder: str, **other: object) -> "Restorer":
        """Another guest's, below ``folder``."""
        guest = replace_guest(self.guest, **other)
        return replace(self, guest=guest, folder=self.folder / folder)


def replace_guest(guest: Guest, **other: object) -> Guest:
    """``guest`` with other fields."""
    fields = {name: getattr(guest, name) for name in guest.__struct_fields__}
    return Guest(**{**fields, **other})


def wait(*runs: Running) -> None:
    """Until all of them have ended."""
    active = list(runs)
    while active := [run for run in active if not run.process.poll()]:
        listening = [one for run in active for one in getattr(run.process, "listening", ())]
        select.select(listening, [], [], 0.05)
