"""Options of a kernel's config that are toggled, one by one: what else each takes and changes, as
the tree's own Kconfig answers, before anything is compiled."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from profdiff.base.atomic import write_atomic
from profdiff.base.bounded import read
from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError
from profdiff.base.units import few
from profdiff.collectors.kernels.build import Make, configure
from profdiff.collectors.kernels.building import config as configs
from profdiff.collectors.kernels.building import kept
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.building.kconfig import Kconfig, Option, UnmetError
from profdiff.collectors.kernels.building.make import BuildError, BuildProgress
from profdiff.collectors.kernels.building.slots import Objects, Slot, slot_for

# In a worktree: a config is made here. git clean may take it away.
_FOLDER = ".configs"
_MAX_BYTES = 1 << 20
_NAMED = 4
_TOGGLE = re.compile(r"(?:CONFIG_)?([A-Za-z0-9]\w{0,199})(?:=(.+))?", re.ASCII)
_VALUE = re.compile(r'[yn]|-?\d{1,20}|0[xX][0-9A-Fa-f]{1,20}|"[^",\\]*"', re.ASCII)
_CONFIG = "CONFIG_"


class Toggle(msgspec.Struct, frozen=True):
    """``value``: what an option is to become, "" for the other of y and n."""

    option: str
    value: str = ""

    @staticmethod
    def parse(text: str) -> "Toggle":
        """``PREEMPT_LAZY``, ``CONFIG_HZ_1000=y``. Raises InputError."""
        match = _TOGGLE.fullmatch(text)
        if match is None or not (match[2] is None or _VALUE.fullmatch(match[2])):
            raise InputError(
                f"--toggle {text}: write the name of an option, or OPTION=VALUE with y, n, a "
                "number or a text in quotes"
            )
        return Toggle(match[1], match[2] or "")

    def __str__(self) -> str:
        return f"{self.option}={self.value}" if self.value else self.option


class Toggled(msgspec.Struct, frozen=True):
    """What becomes of a config. ``toggle`` with the value that it has then. ``needs``: the options
    that are set besides it, ``OPTION=VALUE``; ``changes``: what Kconfig changes because of them,
    ``OPTION n -> y``. ``refused``: why it cannot be, in one line."""

    toggle: Toggle
    needs: list[str] = []
    changes: list[str] = []
    refused: str = ""

    @property
    def settings(self) -> list[str]:
        """As a SPEC has them, the option's first."""
        return [f"{_CONFIG}{one}" for one in (str(self.toggle), *self.needs)]


def toggled(job: BuildJob, toggles: Sequence[Toggle]) -> list[Toggled]:
    """Each of ``toggles`` on top of the config of ``job``. Kconfig is run once for each, and never
    again for the same. Raises UnfitError for the base's config, BuildError where Kconfig does not
    build, InputError, MissingError."""
    folder = cache_folder("builds", "toggles")
    places = {toggle: folder / kept.key_of(job.key, str(toggle)) for toggle in toggles}
    found = {toggle: one for toggle, place in places.items() if (one := _known(place))}
    if missing := [toggle for toggle in places if toggle not in found]:
        with slot_for(job.prepared, job.objects) as slot:
            slot.check_out(job.prepared.git, job.prepared.built)
            trial = _Trial(job, slot)
            for toggle in missing:
                found[toggle] = trial.of(toggle)
                write_atomic(places[toggle], msgspec.json.encode(found[toggle]), durable=False)
            shutil.rmtree(trial.folder, ignore_errors=True)
    return [found[toggle] for toggle in toggles]


def _known(place: Path) -> Toggled | None:
    try:
        return msgspec.json.decode(read(place, _MAX_BYTES), type=Toggled)
    except (OSError, msgspec.DecodeError):
        return None


class _Trial:
    """Configs that are made in a slot."""

    def __init__(self, job: BuildJob, slot: Slot) -> None:
        self._job, self._slot = job, slot
        self.folder: Path = slot.tree / _FOLDER
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        # Kconfig asks the compiler a hundred questions each time.
        self._tiny = ""
        if not job.requested.whole:
            self._make(job)("tinyconfig")
            self._tiny = (self.folder / ".config").read_text(errors="replace")
        self._base = self._config(job)
        # As arch/ calls it, where images lie.
        source = next(one for one in job.architecture.images if one.startswith("arch/"))
        self._kconfig = Kconfig.read(slot.tree, source.split("/")[1])

    def _config(self, job: BuildJob) -> dict[str, str]:
        """Without ``CONFIG_``; what is not there is not in it."""
        configure(self._make(job), quiet=True, tiny=self._tiny)
        text = (self.folder / ".config").read_text(errors="replace")
        found = configs.options(text).items()
        return {name.removeprefix(_CONFIG): value for name, value in found}

    def _make(self, job: BuildJob) -> Make:
        objects = Objects(self.folder, new=True, cut_short=False)
        return Make(job, self._slot, objects, BuildProgress("", "", 0, 0.0, quiet=True))

    def of(self, toggle: Toggle) -> Toggled:
        """What becomes of the config with it."""
        name, before = toggle.option, self._base.get(toggle.option, "n")
        if not toggle.value and before not in ("y", "m", "n"):
            return Toggled(toggle, refused=f"it is {before}: write {name}=VALUE")
        toggle = Toggle(name, toggle.value or ("n" if before == "y" else "y"))
        if toggle.value == before:
            return Toggled(toggle, refused=f"the base has {toggle}")
        if name not in self._kconfig and self._kconfig:
            return Toggled(toggle, refused="the source has no such option")
        needs: dict[str, str] = {}
        unmet = ""
        try:
            needs = self._kconfig.needed(name, toggle.value, self._base)
        except UnmetError as error:
            # Kconfig has the last word.
            unmet = str(error)
        found = Toggled(toggle, [f"{other}={value}" for other, value in needs.items()])
        try:
            config = self._config(self._job.toggled(found.settings))
        except BuildError as error:
            return Toggled(toggle, refused=error.first)
        except InputError as error:
            return Toggled(toggle, refused=str(error))
        if config.get(name, "n") != toggle.value:
            return Toggled(toggle, refused=unmet or self._why(toggle, config))
        if config.get("64BIT", "n") != self._base.get("64BIT", "n"):
            return Toggled(toggle, refused="the kernel would be for another architecture")
        changes = [
            f"{other} {self._base.get(other, 'n')} -> {config.get(other, 'n')}"
            for other in sorted({*self._base, *config})
            if other != name
            and needs.get(other) != config.get(other, "n")
            and self._base.get(other, "n") != config.get(other, "n")
        ]
        return msgspec.structs.replace(found, changes=changes)

    def _why(self, toggle: Toggle, config: dict[str, str]) -> str:
        """Why Kconfig did not take it."""
        value = config.get(toggle.option, "n")
        option = self._kconfig.get(toggle.option, Option())
        selecting = [one for one in option.selected if config.get(one, "n") != "n"]
        if toggle.value == "n" and selecting:
            return f"Kconfig keeps it {value}: {few(selecting, _NAMED)} selects it"
        return f"Kconfig makes it {value}"
