"""The kernels of revisions, built one after the other, and the next one beside a guest."""

import contextlib
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace

from profdiff.base import program
from profdiff.base.errors import ProfdiffError
from profdiff.base.terminal import tell
from profdiff.collectors.kernels.build import build, is_built
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.git_spec import Change, GitSpec

_DIGITS = 12
_PATIENCE = 30.0


def label_of(commit: str) -> str:
    """What a revision's kernel is called in the session."""
    return commit[:_DIGITS]


class Kernels:
    """``plain``: the repository, config, compiler and architecture of all. One build may go on
    beside what the caller does; it ends with ``close``."""

    def __init__(self, plain: GitSpec) -> None:
        self._plain = plain
        self._beside: tuple[str, subprocess.Popen[bytes]] | None = None

    def spec(self, commit: str, reverted: str = "") -> GitSpec:
        """What names the kernel of a revision, with another commit reverted on top."""
        changes = (Change("revert", reverted),) if reverted else ()
        return replace(self._plain, revision=commit, changes=changes)

    def build(self, commit: str, label: str = "", reverted: str = "") -> KernelFiles:
        """The kernel, out of the cache or built now. Raises what
        ``profdiff.collectors.kernels.build.build`` does."""
        spec = self.spec(commit, reverted)
        if self._beside and self._beside[0] == str(spec):
            # It began before us. What it says it will not have said: then it is built here.
            if self._beside[1].poll() is None:
                tell(f"{label or label_of(commit)}: its build began beside the guest")
            self._beside[1].wait()
        self.close()
        return build(BuildJob.of(spec), label or label_of(commit))

    def begin(self, commits: Sequence[str]) -> None:
        """Build the first of ``commits`` that is not in the cache, beside what comes now."""
        if self._beside and self._beside[1].poll() is None:
            return
        missing = None
        # What is wrong with it shows when it is its turn.
        with contextlib.suppress(ProfdiffError):
            missing = next((spec for spec in map(self.spec, commits) if not is_built(spec)), None)
        if missing is None:
            return
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            return  # It would outlive a bisect that is killed.
        command = program.command("kernel", "build", "--quiet", str(missing))
        nowhere = subprocess.DEVNULL
        process = subprocess.Popen(
            [setpriv, "--pdeathsig", "TERM", *command],
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
        )
        self._beside = str(missing), process

    def close(self) -> None:
        """End a build that goes on beside."""
        if self._beside and self._beside[1].poll() is None:
            process = self._beside[1]
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._beside = None
