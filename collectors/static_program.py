"""Static C programs of profdiff's own: a wheel brings them, else each is compiled once for each
architecture."""

import hashlib
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import MissingError
from profdiff.base.temporary import temporary_folder
from profdiff.collectors.architecture import ARCHITECTURES, Architecture
from profdiff.collectors.programs import find_program, fix


@dataclass(frozen=True)
class StaticProgram:
    """``told`` is for sentences. ``folder`` has its sources, ``*.c``, and headers; ``marks``: a
    header of another folder. ``generated``: headers that a compiler is asked for, by name.
    ``architectures``: those that it is written for."""

    name: str
    told: str
    folder: Path
    marks: Path | None = None
    generated: Mapping[str, Callable[[Path], str]] | None = None
    architectures: Sequence[Architecture] = ARCHITECTURES

    def brought(self, architecture: Architecture) -> Path | None:
        """The one that this installation brought: setup.py compiles it into a wheel."""
        program = self.place(architecture)
        return program if program.is_file() else None

    def place(self, architecture: Architecture) -> Path:
        """Where an installation has it."""
        return self.folder / f"{self.name}-{architecture.name}"

    def find(self, architecture: Architecture) -> Path:
        """The one that was brought; else compiled once for each version of its source and kept in
        the cache.

        Raises MissingError without a C compiler for the architecture or a static libc.
        """
        from profdiff.base.cache import cache_folder

        if program := self.brought(architecture):
            return program
        headers = [*sorted(self.folder.glob("*.h")), *([self.marks] if self.marks else [])]
        text = b"".join(file.read_bytes() for file in (*self._sources(), *headers))
        digest = hashlib.sha256(text).hexdigest()[:16]
        program = cache_folder(self.name) / f"{self.name}-{digest}-{architecture.name}"
        if not program.exists():
            self.compile(program, architecture)
        return program

    def compile(self, program: Path, architecture: Architecture) -> None:
        """Compile it to the file ``program``. Raises MissingError. A build calls this, which has
        only the standard library."""
        compiler = find_program(architecture.compiler)
        with temporary_folder(beside=program) as folder:
            built = folder / self.name
            for header, text in (self.generated or {}).items():
                (folder / header).write_text(text(compiler))
            command = [str(compiler), "-O2", "-static", f"-ffile-prefix-map={self.folder}=."]
            command += [f"-I{folder}", *([f"-I{self.marks.parent}"] if self.marks else [])]
            command += ["-o", str(built), *map(str, self._sources())]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
                raise MissingError(
                    f"cannot compile {self.told} ({reason}): {fix(architecture.compiler)}"
                )
            built.replace(program)

    def _sources(self) -> list[Path]:
        return sorted(self.folder.glob("*.c"))
