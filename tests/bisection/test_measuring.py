"""What a revision costs, with builds and guests that are made up."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import synthetic

from profdiff.base.errors import InputError, MissingError, RunError
from profdiff.bisection import measuring
from profdiff.bisection.git_bisect import Mark
from profdiff.bisection.kept import Kept, Question
from profdiff.bisection.measuring import Measuring, label_of
from profdiff.bisection.verdict import Verdict
from profdiff.collectors.kernels.build import BuildError, UnfitError
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.session import manifest as m
from profdiff.session.session import Session

GOOD, BAD, ONE, OTHER = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)


@dataclass
class World:
    """``values``: what a guest counts of each revision, bad above 150; an exception is what its
    build raises. ``failures``: so many guests of a revision fail first."""

    folder: Path
    values: dict[str, float | Exception]
    failures: dict[str, int] = field(default_factory=dict)
    booted: list[str] = field(default_factory=list)

    def measuring(self, patch: pytest.MonkeyPatch) -> Measuring:
        labels = {label_of(commit): commit for commit in self.values}
        kept = Kept.of(self.folder, Question(repository="x", good=GOOD, bad=BAD))

        def build(commit: str, label: str = "") -> KernelFiles:
            value = self.values[commit]
            if isinstance(value, Exception):
                raise value
            return KernelFiles(label or label_of(commit), commit, None, Path("vmlinux"))

        def record(session: Session, kernels: Sequence[KernelFiles], _: Any) -> None:
            for kernel in kernels:
                commit = labels[kernel.label]
                self.booted.append(commit)
                left = self.failures.get(commit, 0)
                self.failures[commit] = left - 1
                failure = m.Failure(kind="timeout", message="no end in 60 s") if left > 0 else None
                made = synthetic.manifest([kernel.label]).runs[0]
                run = m.replace(made, id=f"{kernel.label}-{len(self.booted)}", failure=failure)
                manifest = session.manifest
                session.save(m.replace(manifest, runs=[*manifest.runs, run]))

        def verdict(label: str) -> Verdict:
            value = self.values[labels[label]]
            assert isinstance(value, float)
            mark: Mark = "bad" if value > 150 else "good"
            return Verdict(mark, value)

        def describe(files: KernelFiles) -> m.Kernel:
            return m.replace(session.manifest.kernels[0], label=files.label)

        patch.setattr(measuring, "record", record)
        patch.setattr(measuring.plan, "describe_kernel", describe)
        session = Session(self.folder, synthetic.manifest([label_of(GOOD), label_of(BAD)]))
        session.save = lambda manifest: setattr(session, "manifest", manifest)  # type: ignore[method-assign]
        return Measuring(
            kept,
            SimpleNamespace(build=build, begin=lambda _: None),  # type: ignore[arg-type]
            session,
            [SimpleNamespace(collector=SimpleNamespace(name="exact"))],  # type: ignore[list-item]
            SimpleNamespace(verdict=verdict, what="instructions"),  # type: ignore[arg-type]
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "b", {GOOD: 100.0, BAD: 200.0, ONE: 100.0, OTHER: 200.0})


def broken(first: str) -> BuildError:
    return BuildError(f"it does not build: {first}", Path("log"), first)


def test_what_does_not_build_is_skipped_for_good(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.values |= {ONE: broken("mm/x.c:1: error: no"), OTHER: UnfitError("a guest needs more")}
    made = world.measuring(monkeypatch)
    assert [made.verdict(one).mark for one in (ONE, OTHER)] == ["skip", "skip"]
    world.values |= {ONE: 100.0, OTHER: 200.0}
    again = world.measuring(monkeypatch)
    assert [again.verdict(one).mark for one in (ONE, OTHER)] == ["skip", "skip"]
    assert again.verdict(ONE).reason == "it does not build: mm/x.c:1: error: no"
    assert world.booted == []


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (InputError("the worktree is locked"), InputError),
        (MissingError("no room"), MissingError),
        (broken("gcc: fatal error: Killed signal terminated program cc1"), RunError),
        (broken("make[3]: *** [scripts/Makefile.build:194: mm/x.o] Error 137"), RunError),
        (broken("collect2: fatal error: ld terminated with signal 9 [Killed]"), RunError),
    ],
)
def test_what_is_not_the_revisions_own_ends_the_run(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception, raised: type[Exception]
) -> None:
    world.values[ONE] = error
    with pytest.raises(raised):
        world.measuring(monkeypatch).verdict(ONE)
    world.values[ONE] = 100.0
    assert world.measuring(monkeypatch).verdict(ONE).mark == "good"


def test_a_guest_that_fails_is_tried_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.failures = {ONE: 1, OTHER: 3}
    made = world.measuring(monkeypatch)
    assert [made.verdict(one).mark for one in (ONE, OTHER)] == ["good", "skip"]
    assert made.verdict(OTHER).reason == "no end in 60 s"
    assert world.booted == [ONE, ONE, OTHER, OTHER]
    made.kept.forget_failed()
    assert made.verdict(OTHER).mark == "bad"
    assert world.booted[4:] == [OTHER, OTHER]
