"""A kernel that profdiff builds from a git repository: ``git:REPO[@REV]``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from profdiff.base.errors import ProfdiffError
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.kernels.build import build, is_known_built
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.building.prepared import prepare
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.git_spec import PREFIX, GitSpec, beside
from profdiff.collectors.kernels.kinds.spec import Spec


@dataclass(frozen=True)
class FromGit(Spec):
    """``git``: what is built, and how."""

    git: GitSpec
    prefix: ClassVar[str] = PREFIX
    of_folder: ClassVar[bool] = True
    is_built: ClassVar[bool] = True

    @classmethod
    def parse(cls, text: str) -> "FromGit | None":
        return cls(text, GitSpec.parse(text)) if text.startswith(cls.prefix) else None

    @staticmethod
    def of(git: GitSpec) -> "FromGit":
        """The SPEC that means ``git``."""
        return FromGit(str(git), git)

    @property
    def name(self) -> str:
        return self.git.label

    def absolute(self) -> "FromGit":
        return FromGit.of(self.git.absolute())

    @classmethod
    def beside(cls, text: str, folder: Path) -> str:
        return beside(text, folder)

    def for_each(self, architectures: Sequence[Architecture]) -> list[Spec]:
        if self.git.architecture:
            return [self]
        git = self.git.absolute()
        return [
            FromGit.of(replace(git, architecture=architecture)) for architecture in architectures
        ]

    @cached_property
    def job(self) -> BuildJob:
        """All that decides what the kernel will be. Raises InputError, MissingError."""
        return BuildJob.of(self.git)

    def prepare(self) -> None:
        self.job  # noqa: B018

    def locate(self, label: str, *, quiet: bool = False) -> KernelFiles:
        return build(self.job, label, quiet=quiet)

    def check(self, label: str) -> None:
        prepare(self.git)

    def is_here(self) -> bool | None:
        return is_known_built(self.git)

    def state(self) -> str:
        try:
            known = self.is_here()
        except ProfdiffError as error:
            return str(error)
        return {True: "", False: "not built yet", None: "built when asked for"}[known]
