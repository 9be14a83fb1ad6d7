"""Kernels by architecture: each label has one for each, whatever the order and the kind of SPEC."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from made_repository import Made, make
from support import need_program

from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.architecture import ARM64, X86_64, Architecture
from profdiff.collectors.kernels import registered
from profdiff.collectors.kernels.building.make import BuildError
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.kinds.debian import Debian
from profdiff.collectors.kernels.kinds.git import FromGit
from profdiff.collectors.kernels.kinds.registry import KernelArgument, parse_arguments
from profdiff.collectors.kernels.kinds.spec import Spec
from profdiff.recording import located

BOTH = [X86_64, ARM64]


def kernels(texts: Sequence[str]) -> list[KernelArgument]:
    """As the command line has them."""
    return parse_arguments(texts, repeated=True)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders with an image of each architecture, by its name and a number."""
    root = tmp_path_factory.mktemp("images")
    for number in range(3):
        for one, name, magic in ((X86_64, "bzImage", b""), (ARM64, "Image", b"ARMd")):
            folder = root / f"{one.arch}-{number}"
            folder.mkdir()
            (folder / name).write_bytes(bytes(56) + magic + bytes(100))
    return root


def told(found: dict[Architecture, list[located.Located]]) -> dict[str, list[tuple[str, str]]]:
    """Labels and the ends of specs, by architecture."""
    return {
        one.arch: [(kernel.label, Path(kernel.spec).name) for kernel in kernels]
        for one, kernels in found.items()
    }


def test_a_label_has_a_kernel_for_each(images: Path) -> None:
    texts = [f"a={images}/arm64-0", f"b={images}/x86_64-1"]
    texts += [f"b={images}/arm64-1", f"a={images}/x86_64-0"]
    assert told(located.for_each(kernels(texts), BOTH)) == {
        "x86_64": [("a", "x86_64-0"), ("b", "x86_64-1")],
        "arm64": [("a", "arm64-0"), ("b", "arm64-1")],
    }
    # Of an experiment for both, one can be recorded alone.
    assert told(located.for_each(kernels(texts), [ARM64])) == {
        "arm64": [("a", "arm64-0"), ("b", "arm64-1")]
    }


@given(st.permutations([(label, one) for label in "abc" for one in BOTH]))
@settings(max_examples=examples(30))
def test_labels_keep_the_order_of_their_first_kernels(
    images: Path, order: list[tuple[str, Architecture]]
) -> None:
    numbers = {"a": 0, "b": 1, "c": 2}
    texts = [f"{label}={images}/{one.arch}-{numbers[label]}" for label, one in order]
    labels = list(dict.fromkeys(label for label, _ in order))
    assert told(located.for_each(kernels(texts), BOTH)) == {
        one.arch: [(label, f"{one.arch}-{numbers[label]}") for label in labels] for one in BOTH
    }


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a=x86_64-0", "a=arm64-0", "b=x86_64-1"], "b has no kernel for arm64: add --kernel b="),
        (["a=arm64-0"], "a has no kernel for x86_64"),
        (["a=x86_64-0", "a=x86_64-1"], r"a is given twice for x86_64: \S+/x86_64-0 and \S+-1"),
        (["a=x86_64-0", "a=nothing"], "no such kernel"),
        (["running"], "running is a machine, which has one architecture: leave --arch out"),
        (["a=ssh://host"], "a is a machine"),
    ],
)
def test_what_is_missing_is_said(images: Path, texts: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        located.for_each(kernels([_in(images, text) for text in texts]), BOTH)


def _in(images: Path, text: str) -> str:
    label, equals, name = text.partition("=")
    return text if not equals or "://" in name else f"{label}={images}/{name}"


@pytest.fixture
def asked_for(images: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The specs that are looked for; what stands for Debian's archive has an image for each."""
    specs: list[str] = []

    def locate(self: Spec, label: str) -> KernelFiles:
        specs.append(self.text)
        arm = self.text.endswith("arm64")
        image = images / ("arm64-0/Image" if arm else "x86_64-0/bzImage")
        return KernelFiles(label, self.text, image)

    for kind in (Debian, FromGit):
        monkeypatch.setattr(kind, "locate", locate)
        monkeypatch.setattr(kind, "prepare", lambda self: None)
    return specs


@pytest.mark.parametrize(
    ("texts", "specs"),
    [
        (["debian:sid"], ["debian:sid,arch=x86_64", "debian:sid,arch=arm64"]),
        (["a=debian:6.1"], ["debian:6.1,arch=x86_64", "debian:6.1,arch=arm64"]),
        (["named"], ["debian:sid,arch=x86_64", "debian:sid,arch=arm64"]),
        (["a=debian:sid/rt"], ["debian:sid/rt,arch=x86_64", "debian:sid/rt,arch=arm64"]),
        (
            ["a=debian:sid/amd64", "a=debian:sid/cloud-arm64"],
            ["debian:sid/amd64", "debian:sid/cloud-arm64"],
        ),
        (
            ["a=debian:sid,arch=x86_64", "a=debian:trixie,arch=arm64"],
            ["debian:sid,arch=x86_64", "debian:trixie,arch=arm64"],
        ),
        (["a=git:/@v6.16"], ["git:/@v6.16,arch=x86_64", "git:/@v6.16,arch=arm64"]),
        (
            ["a=git:/+p,cc=gcc-13"],
            ["git:/+/p,cc=gcc-13,arch=x86_64", "git:/+/p,cc=gcc-13,arch=arm64"],
        ),
        (
            ["a=git:/@v6,arch=arm64", "a=git:/@v5,arch=x86_64"],
            ["git:/@v6,arch=arm64", "git:/@v5,arch=x86_64"],
        ),
    ],
)
def test_debian_has_each_unless_told(
    asked_for: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    texts: list[str],
    specs: list[str],
) -> None:
    monkeypatch.setenv("PROFDIFF_CONFIG", str(tmp_path))
    monkeypatch.chdir("/")
    registered.add("named", "debian:sid")
    found = located.for_each(kernels(texts), BOTH)
    assert asked_for == specs
    labels = [[kernel.label for kernel in kernels] for kernels in found.values()]
    assert labels[0] == labels[1]


def test_without_arch_kernels_of_two_are_refused(images: Path) -> None:
    with pytest.raises(InputError, match=r"b is for arm64\): to record each, add --arch x86_64,ar"):
        located.together(kernels([f"a={images}/x86_64-0", f"b={images}/arm64-0"]))


def test_without_arch_a_label_is_given_once(images: Path) -> None:
    texts: Sequence[str] = [f"a={images}/x86_64-0", f"a={images}/arm64-0"]
    with pytest.raises(InputError, match=r"a is given twice \(with --arch, once for each"):
        located.together(kernels(texts))


def test_without_arch_it_is_what_the_kernels_are_for(images: Path) -> None:
    _, arm = located.together(kernels([f"{images}/arm64-0", f"{images}/arm64-1"]))
    assert arm == ARM64
    _, nothing = located.together(kernels(["running"]))
    assert nothing is None


def test_a_commit_that_does_not_build_is_a_hole_on_each(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only kernels of a series may lack: what was named by itself is an error."""

    def locate(self: FromGit, label: str) -> KernelFiles:
        architecture = self.git.architecture or X86_64
        if self.git.revision == "bad" and architecture is ARM64:
            raise BuildError("bad does not build: x.c:1: no (log: /l)", Path("/l"), "x.c:1: no")
        name = "Image" if architecture is ARM64 else "bzImage"
        image = images / f"{architecture.arch}-0" / name
        return KernelFiles(label, self.text, image)

    monkeypatch.setattr(FromGit, "locate", locate)
    monkeypatch.setattr(FromGit, "prepare", lambda self: None)
    texts = [f"base=git:{tmp_path}@v1", f"1-x=git:{tmp_path}@bad", f"2-y=git:{tmp_path}@v3"]
    found = located.for_each(kernels(texts), BOTH, {"1-x", "2-y"})
    assert [type(one).__name__ for one in found[X86_64]] == ["KernelFiles"] * 3
    base, hole, last = found[ARM64]
    assert isinstance(hole, located.UnbuiltKernel)
    assert (hole.label, hole.reason) == ("1-x", "x.c:1: no")
    assert located.built([base, hole, last]) == [base, last]
    with pytest.raises(BuildError):
        located.for_each(kernels(texts), BOTH, {"2-y"})
    assert located.together(kernels(texts), {"1-x"})[1] is X86_64


@pytest.mark.parametrize("more", ["b=git:{0}@nothing", "b=git:{0}@v1,cc=no-such-cc", "b=nowhere"])
def test_a_mistake_shows_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    """Also where it stands behind, and under each architecture and each compiler."""
    need_program("make")
    need_program("gcc")
    repository = make(tmp_path / "linux", {"v1": Made({"a": "1"})}).folder
    monkeypatch.setattr("profdiff.collectors.kernels.kinds.git.build", None)
    texts = [f"a=git:{repository}@v1", more.format(repository)]
    with pytest.raises((InputError, MissingError)) as error:
        located.together(kernels(texts))
    words = "nothing", "no-such-cc", "nowhere"
    assert any(word in str(error.value) for word in words)
    with pytest.raises((InputError, MissingError), match="|".join(words)):
        located.for_each(kernels(texts), [X86_64])
    if more.endswith("@nothing"):
        with pytest.raises(InputError, match="nothing"):
            located.under_each(located.specified(kernels(texts), ["gcc"]))


def test_without_arch_a_kernel_from_git_is_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(located, "host", lambda: ARM64)
    git = f"git:{tmp_path}@v1"
    assert located.only_architecture(kernels([f"a={git}"])) is ARM64
    both = kernels([f"a={git}", f"b={git},arch=x86_64"])
    with pytest.raises(InputError, match="a is for arm64, b is for x86_64"):
        located.only_architecture(both)


def test_what_is_left_to_build_is_told_by_the_latest_builds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not by that of the base, which began with nothing, nor by what was built before."""
    located._tell_left(9, [1320.0, 0.1])
    located._tell_left(0, [1320.0, 20.0])
    assert not capsys.readouterr().err
    located._tell_left(10, [1320.0, 20.0, 0.1, 30.0])
    assert "10 left to build: 3 to 5 min if they take as long as the latest" in (
        capsys.readouterr().err
    )
