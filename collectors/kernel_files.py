"""The files of one kernel, found."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class KernelFiles:
    """What a spec led to. ``modules`` is a folder that holds ``.ko`` files, at any depth;
    ``debug_elf`` may be compressed whole (``.zst``, ``.xz``)."""

    label: str
    spec: str
    image: Path
    debug_elf: Path | None = None
    config: Path | None = None
    modules: Path | None = None

    def module_files(self) -> dict[str, Path]:
        """Module files by the module's name."""
        found: dict[str, Path] = {}
        for path in sorted(self.modules.rglob("*.ko*")) if self.modules else []:
            # The kernel writes '-' as '_' in a module's name (scripts/Makefile.lib).
            found.setdefault(path.name.split(".ko")[0].replace("-", "_"), path)
        return found
