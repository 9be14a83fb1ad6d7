"""What guests boot from, built when the first run needs it: one archive for each command line."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from profdiff.collectors.guest import initramfs
from profdiff.collectors.perf.command import Attempt
from profdiff.collectors.perf.machine import attempt_files
from profdiff.collectors.perf.programs import perf_files
from profdiff.collectors.workload.workload import PreparedWorkload
from profdiff.session.points import substitute


class GuestArchives:
    """The archives of one collector, in ``folder``. With ``attempts`` the workload runs under perf;
    without, it runs ``boot_runs`` times, and with ``observe`` once more to be watched."""

    def __init__(
        self,
        folder: Path,
        workload: PreparedWorkload,
        settle: float,
        *,
        architecture: str,
        attempts: Sequence[Attempt] = (),
        boot_runs: int = 1,
        observe: bool = False,
    ) -> None:
        self._folder = folder
        self._workload = workload
        self._settle = settle
        self._architecture = architecture
        self._attempts = attempts
        self._boot_runs = boot_runs
        self._observe = observe
        self._made: dict[tuple[str, ...], Path] = {}

    def archive(self, parameters: Mapping[str, str]) -> Path:
        """The archive whose guest runs the workload with ``parameters``. Raises as
        ``initramfs.build``."""
        argv = tuple(substitute(word, parameters) for word in self._workload.guest_argv)
        if argv not in self._made:
            path = self._folder / f"{len(self._made)}.cpio.gz"
            self._build(path, argv)
            self._made[argv] = path
        return self._made[argv]

    def _build(self, path: Path, argv: tuple[str, ...]) -> None:
        files = {}
        if self._attempts:
            files = {file.guest_path: file for file in perf_files(self._architecture)}
        files |= {file.guest_path: file for file in self._workload.files}
        path.parent.mkdir(exist_ok=True)
        initramfs.build(
            path,
            files.values(),
            argv,
            self._settle,
            architecture=self._architecture,
            own=attempt_files(self._attempts) if self._attempts else None,
            boot_runs=self._boot_runs,
            observe=self._observe,
        )
