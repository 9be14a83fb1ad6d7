"""Kernels named on the command line: labels, folders, images, trees, names."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from click.shell_completion import ShellComplete
from hypothesis import given
from hypothesis import strategies as st
from support import error_line, profdiff

from profdiff.base.errors import InputError, MissingError
from profdiff.cli import cli
from profdiff.collectors.architecture import X86_64
from profdiff.collectors.kernels import registered as kernel_registry
from profdiff.collectors.kernels.files import KernelFiles, module_files
from profdiff.collectors.kernels.kinds import registry
from profdiff.collectors.kernels.kinds.registry import derive_label, parse, parse_arguments
from profdiff.collectors.kernels.kinds.spec import Spec
from profdiff.collectors.kernels.label import is_label
from profdiff.recording import located


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of its own."""
    folder = tmp_path / "config"
    monkeypatch.setenv("PROFDIFF_CONFIG", str(folder))
    return folder


def kernel_folder(folder: Path, *names: str) -> Path:
    """A folder with files of those names."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return folder


def at(spec: str | Path) -> KernelFiles:
    return parse(str(spec)).locate("k")


def test_labels_given_and_derived() -> None:
    texts = ["base=/k/v6.12", "/k/v6.18.15", "debian:sid", "debian:6.17.13/amd64", "/k/v6.18.15"]
    texts += ["/b/bzImage,vmlinux=/b/vmlinux", "linux-image-6.12.95+deb12-amd64_6.12_amd64.deb"]
    labels = [argument.label for argument in parse_arguments(texts)]
    assert labels == [
        *("base", "v6.18.15", "sid", "6.17.13-amd64", "v6.18.15-2"),
        *("bzImage", "linux-image-6.12.95+deb12-amd64"),
    ]
    assert parse_arguments(["base=/k/v6.12"])[0].spec.text == "/k/v6.12"


@pytest.mark.parametrize("text", ["", "a=", "a b=/k", "=/k", "-a=x"])
def test_what_is_no_kernel(text: str) -> None:
    with pytest.raises(InputError):
        parse_arguments([text])


@given(st.lists(st.text(min_size=1), min_size=1, max_size=6))
def test_derived_labels_are_labels_and_unique(specs: list[str]) -> None:
    try:
        labels = [argument.label for argument in parse_arguments([f"/k/{spec}" for spec in specs])]
    except InputError:
        return
    assert all(map(is_label, labels))
    assert len(set(labels)) == len(labels)
    assert all(is_label(derive_label(spec)) for spec in specs)


def test_a_folder(tmp_path: Path) -> None:
    folder = kernel_folder(tmp_path / "k", "bzImage", "vmlinux.zst", "config")
    files = at(folder)
    assert (files.image, files.debug_elf) == (folder / "bzImage", folder / "vmlinux.zst")
    assert files.config == folder / "config"


def test_a_build_tree(tmp_path: Path) -> None:
    names = ["arch/x86/boot/bzImage", "vmlinux", ".config", "fs/my-fs.ko", "drivers/a/b.ko"]
    tree = kernel_folder(tmp_path / "linux", *names)
    files = at(tree)
    assert files.image == tree / "arch/x86/boot/bzImage"
    assert (files.debug_elf, files.config) == (tree / "vmlinux", tree / ".config")
    assert module_files(files.modules) == {
        "my_fs": tree / "fs/my-fs.ko",
        "b": tree / "drivers/a/b.ko",
    }


def test_an_image_with_and_without_its_debug_elf(tmp_path: Path) -> None:
    folder = kernel_folder(tmp_path, "vmlinuz-6.1-x", "config-6.1-x", "debug/vmlinux")
    files = at(folder / "vmlinuz-6.1-x")
    assert (files.debug_elf, files.config) == (None, folder / "config-6.1-x")
    files = at(f"{folder}/vmlinuz-6.1-x,vmlinux={folder}/debug/vmlinux")
    assert files.debug_elf == folder / "debug/vmlinux"
    with pytest.raises(InputError, match="gone is not a file"):
        at(f"{folder}/vmlinuz-6.1-x,vmlinux={folder}/gone")


def test_a_folder_without_a_kernel(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no kernel image \(bzImage"):
        at(tmp_path)


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_folder(tmp_path / "k", "bzImage", "vmlinux")
    monkeypatch.chdir(tmp_path)
    kernel_registry.add("good", str(parse("k").absolute()))
    assert kernel_registry.registered() == {"good": str(tmp_path / "k")}
    monkeypatch.chdir("/")
    assert at("good").image == tmp_path / "k/bzImage"
    assert f"good  {tmp_path}/k" in profdiff("kernel", "list").stdout
    profdiff("kernel", "add", "sid", "debian:sid")
    assert kernel_registry.registered()["sid"] == "debian:sid"
    profdiff("kernel", "remove", "good")
    assert "did you mean" not in error_line(profdiff("kernel", "remove", "zzz", status=2))
    line = error_line(profdiff("kernel", "remove", "sit", status=2))
    assert "did you mean sid?" in line
    with pytest.raises(InputError, match="did you mean sid"):
        at("sidd")


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("debain:trixie", "did you mean debian:trixie?"),
        ("shh://root@host", "did you mean ssh://root@host?"),
        ("runing", "did you mean running?"),
        ("bookwrom", "did you mean debian:bookworm?"),
        (
            "zzz",
            "profdiff kernel add zzz FOLDER registers a folder with bzImage and vmlinux; "
            "debian:SUITE needs no files",
        ),
        ("/nonsense", "see profdiff record --help for what a SPEC may be"),
        ("http://x", "see profdiff record --help for what a SPEC may be"),
    ],
)
def test_a_spec_that_leads_nowhere(spec: str, meant: str) -> None:
    line = error_line(profdiff("kernel", "fetch", spec, status=2))
    assert line.endswith(f": {meant}")


def test_a_name_whose_files_are_gone_is_listed_so(tmp_path: Path) -> None:
    kernel_registry.add("lost", str(tmp_path / "nothing"))
    assert "(no such kernel:" in profdiff("kernel", "list").stdout


def test_a_file_comes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_registry.add("k", "debian:sid")
    kernel_folder(tmp_path / "k", "bzImage")
    monkeypatch.chdir(tmp_path)
    assert at("k").image == Path("k/bzImage")


def test_paths_in_a_spec_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(parse("b/i,vmlinux=v").absolute()) == f"{tmp_path}/b/i,vmlinux={tmp_path}/v"
    assert str(parse("a.deb,b.deb").absolute()) == f"{tmp_path}/a.deb,{tmp_path}/b.deb"
    for folder in ("/k/a=b/linux", "/k/a,b"):
        assert str(parse(folder).absolute()) == folder
        both = f"{folder}/bzImage,vmlinux={folder}/vmlinux"
        assert str(parse(both).absolute()) == both


def test_listing_unpacks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    (tmp_path / "there.deb").write_bytes(b"no package")
    kernel_registry.add("there", f"{tmp_path}/there.deb")
    kernel_registry.add("gone", f"{tmp_path}/there.deb,{tmp_path}/gone.deb")
    there, gone = sorted(profdiff("kernel", "list").stdout.splitlines(), reverse=True)
    assert there.endswith("there.deb")
    assert gone.endswith(f"(no such file: {tmp_path}/gone.deb)")
    assert not (tmp_path / "cache").exists()


def test_a_name_that_is_no_name() -> None:
    assert "not a name" in error_line(profdiff("kernel", "add", "a/b", "x", status=2))


@pytest.mark.parametrize("content", [b"{", b'{"kernels": {"a": 1}}', b"\xff"])
def test_a_damaged_registry(config: Path, content: bytes) -> None:
    config.mkdir()
    (config / "kernels.json").write_bytes(content)
    assert "kernels.json is damaged" in error_line(profdiff("kernel", "list", status=2))


def test_a_registry_that_cannot_be_written(config: Path) -> None:
    config.write_bytes(b"a file in the way")
    with pytest.raises(MissingError, match="PROFDIFF_CONFIG"):
        kernel_registry.add("a", "debian:sid")


def test_registering_is_atomic(config: Path) -> None:
    kernel_registry.add("a", "debian:sid")
    assert [path.name for path in config.iterdir()] == ["kernels.json"]


def test_names_in_a_circle() -> None:
    kernel_registry.add("a", "debian:sid")
    # As a user might edit the file: add() makes plain words into paths, or what they stand for.
    path = kernel_registry._path()
    path.write_text('{"kernels": {"a": "b", "b": "a", "c": "c"}}')
    for name in ("a", "c"):
        with pytest.raises(InputError, match="refers to itself"):
            at(name)


@dataclass(frozen=True)
class Rsync(Spec):
    """A kind of our own: a folder that is said otherwise."""

    prefix: ClassVar[str] = "rsync:"

    @classmethod
    def parse(cls, text: str) -> "Rsync | None":
        return cls(text) if text.startswith(cls.prefix) else None

    def locate(self, label: str, *, quiet: bool = False) -> KernelFiles:
        return replace(parse(self.text.removeprefix(self.prefix)).locate(label), spec=self.text)


def test_a_kind_is_one_class_and_one_entry(
    old_kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What asks for a SPEC knows it: names, labels, experiments, experiment files, completion."""
    monkeypatch.setattr(registry, "KINDS", [Rsync, *registry.KINDS])
    spec = f"rsync:{old_kernel}"
    (argument,) = parse_arguments([spec])
    assert argument.label == old_kernel.name
    (kernel,), architecture = located.together([argument])
    assert (kernel.spec, architecture) == (spec, X86_64)
    assert located.for_each([argument], [X86_64])[X86_64] == [kernel]
    assert located.not_built([argument], [], []) == []
    with pytest.raises(InputError, match=f"{spec}.* is already built"):
        located.specified([argument], ["gcc"])
    with pytest.raises(InputError, match="did you mean rsync:/k"):
        at("rsnyc:/k")
    assert registry.beside(spec, tmp_path) == spec
    assert cli.main(["kernel", "add", "good", spec], standalone_mode=False) is None
    assert kernel_registry.registered() == {"good": spec}
    assert at("good").spec == spec
    complete = ShellComplete(cli, {}, "profdiff", "_PROFDIFF_COMPLETE")
    found = complete.get_completions(["record", "--kernel"], "rs")
    assert [one.value for one in found] == ["rsync:"]
