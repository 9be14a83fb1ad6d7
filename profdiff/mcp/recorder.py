"""The tool that records, for a server that was started with ``--allow-record``."""

import subprocess
from tempfile import TemporaryFile

from profdiff.base import program, units
from profdiff.base.errors import InputError
from profdiff.collectors.kernels.arguments import parse_arguments
from profdiff.collectors.kernels.kinds.machine import Machine
from profdiff.mcp.answer import MOST, answer
from profdiff.mcp.folder import Folder

_WORDS = 100


class Recorder:
    """Records into the folder that is served."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    async def record(
        self, session: str, kernels: list[str], command: list[str], ops: str = ""
    ) -> str:
        """Run a command in a guest of each of two or more kernels, and count every instruction; it
        takes seconds to minutes. `report` shows what was found.

        `session`: the new folder's name, NAME.profdiff. `kernels`: LABEL=SPEC, the base first; SPEC
        is a registered name, a folder with bzImage and vmlinux, or debian:SUITE. `command`: program
        and arguments, or a C source. `ops`: how many operations it does, or "{NAME}"."""
        import anyio

        place = self._folder.path(session)
        if place.suffix != ".profdiff":
            raise InputError("session: the name of a new folder, NAME.profdiff")
        if not 2 <= len(kernels) <= _WORDS or not 0 < len(command) <= _WORDS:
            raise InputError("name two kernels or more, and a command")
        if place.exists():
            raise InputError(f"{units.printable(session)} is there already: name another one")
        for one in parse_arguments(kernels):
            # The command would run on the machine itself, or a Makefile would.
            if isinstance(one.spec, Machine) or one.spec.is_built:
                raise InputError(f"{one.label}: name a kernel that is built, and boots in a guest")
        words = [f"--kernel={one}" for one in kernels] + ([f"--ops={ops}"] if ops else [])
        arguments = ["record", *words, "-o", str(place), "--", *command]
        with TemporaryFile() as told:
            done = await anyio.run_process(
                program.command(*arguments),
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=subprocess.STDOUT,
                check=False,
                cwd=self._folder.top,
            )
            told.seek(0)
            text = told.read(8 * MOST).decode(errors="replace")
        if done.returncode:
            raise InputError(units.printable(text.strip().rpartition("\n")[2]))
        return answer(text, "ask for the `report`")
