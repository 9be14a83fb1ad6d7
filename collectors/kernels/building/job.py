"""All that decides what a kernel will be, found before anything is built."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import Architecture, host
from profdiff.collectors.kernels import code_options
from profdiff.collectors.kernels.building import config as configs
from profdiff.collectors.kernels.building import kept
from profdiff.collectors.kernels.building.config import (
    Requested,
    debian_config,
    known_debian_config,
    source_version,
)
from profdiff.collectors.kernels.building.prepared import Prepared, prepare
from profdiff.collectors.kernels.building.toolchain import Toolchain, find_toolchain, needed
from profdiff.collectors.kernels.git_spec import DISTRIBUTION, GitSpec
from profdiff.collectors.records import BuiltFrom


@dataclass(frozen=True)
class BuildJob:
    """All that decides what a kernel will be. ``profile``: of AutoFDO."""

    spec: GitSpec
    prepared: Prepared
    architecture: Architecture
    toolchain: Toolchain
    requested: Requested
    profile: Path | None = None

    @staticmethod
    def of(spec: GitSpec) -> "BuildJob":
        """Raises InputError, DoesNotApply, MissingError for what there is not."""
        return _job(spec, prepare(spec))

    @staticmethod
    def known(spec: GitSpec) -> "BuildJob | None":
        """The same without a network; None where that takes one. Raises what ``of`` does."""
        prepared = prepare(spec)
        if spec.config == DISTRIBUTION:
            here = known_debian_config(source_version(prepared), spec.architecture or host())
            if here is None:
                return None
        return _job(spec, prepared)

    @property
    def key(self) -> str:
        """The key of what is built."""
        return kept.key_of(self.prepared.tree, *self._how(self.requested.digest))

    @property
    def objects(self) -> str:
        """The key of the builds that can share object files with this one: an option more or less
        makes only those anew that depend on it, as Kbuild knows."""
        return kept.key_of(str(self.toolchain.program), *self._how(self.requested.shared))[:12]

    def _how(self, config: str) -> tuple[str, ...]:
        tools = self.toolchain
        versions = (tools.version, tools.digest, *tools.others)
        profile = [self.profile.name] if self.profile else []
        return config, *versions, self.architecture.arch, *profile

    @property
    def variables(self) -> list[str]:
        """Variables that make is given."""
        return [f"CLANG_AUTOFDO_PROFILE={self.profile}"] if self.profile else []

    def toggled(self, settings: Iterable[str]) -> "BuildJob":
        """The same with more ``settings``, which replace those of the same options. Raises
        InputError for one that each build makes at random."""
        named = {one.partition("=")[0]: one for one in (*self.spec.settings, *settings)}
        every = tuple(named.values())
        spec = replace(self.spec, settings=every)
        return replace(self, spec=spec, requested=self.requested.having(every))

    @property
    def source(self) -> BuiltFrom:
        """For the session."""
        prepared = self.prepared
        return BuiltFrom(
            repository=str(self.spec.repository.expanduser().resolve()),
            commit=prepared.commit,
            described=prepared.described,
            subject=prepared.subject,
            tree=prepared.tree,
            built=prepared.built,
            dirty=prepared.dirty,
            patches=list(prepared.patches),
            reverted=list(prepared.reverted),
            config=self.requested.name,
            settings=list(self.spec.settings),
            compiler=self.toolchain.version,
            arch=self.architecture.arch,
            options=code_options.words(self.spec.compiler, dict(self.spec.code)),
        )

    @property
    def about(self) -> str:
        """What is built and with what, in words."""
        changes = "".join(map(str, self.spec.changes))
        changes += "".join(f" {one}" for one in self.spec.settings)
        dirty = " with uncommitted changes" if self.prepared.dirty else ""
        code = "".join(f", {word}" for word in code_options.words("", dict(self.spec.code)))
        return f"{self.prepared.described}{changes}{dirty} with {self.toolchain.version}{code}"


def _job(spec: GitSpec, prepared: Prepared) -> BuildJob:
    architecture = spec.architecture or host()
    needed("make")
    toolchain = find_toolchain(spec.compiler, architecture)
    if spec.config == DISTRIBUTION:
        requested = debian_config(prepared, architecture)
    else:
        requested = configs.requested(spec.config, architecture)
    requested = requested.having(spec.settings)
    if not spec.code:
        return BuildJob(spec, prepared, architecture, toolchain, requested)
    given = dict(spec.code)
    code_options.refuse_compiler(str(spec), given, toolchain.version)
    for lacking in code_options.lacking(given, {}):
        names = lacking.rpartition("(")[2].rstrip(")").replace("CONFIG_", "").split(" or ")
        words = ("grep", "-q", "-E", f"^config ({'|'.join(names)})$", prepared.tree)
        if prepared.git.succeeds(*words, "--", "arch/Kconfig", "init/Kconfig") is None:
            raise InputError(f"{spec}: {prepared.described} has no option for {lacking}")
    text = requested.text + code_options.config_of(given)
    profile = code_options.profile(given)
    return BuildJob(spec, prepared, architecture, toolchain, replace(requested, text=text), profile)


def image_of(architecture: Architecture) -> str:
    """The image in a folder of object files."""
    return next(name for name in architecture.images if name.startswith("arch/"))
