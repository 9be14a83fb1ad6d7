"""``profdiff example``: published experiments that come with profdiff."""

import os
import shutil
from pathlib import Path

import click

from profdiff.base.errors import InputError
from profdiff.base.names import did_you_mean
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import put, say
from profdiff.commands.command import command


@command()
def header() -> None:
    """Print the folder of profdiff.h: cc -I"$(profdiff header)" ..."""
    from profdiff.collectors.guest.initramfs import guest_resources

    put(os.fsencode(guest_resources()) + b"\n")


_EXPERIMENT = "profdiff.toml"


@command()
@click.argument("name", required=False)
def example(name: str | None) -> None:
    """Copy the example NAME into a new folder here, or list the examples.

    \b
    An example is a published reproducer with its experiment:
      profdiff example mincore-present-pte
      cd mincore-present-pte
      profdiff record --kernel base=KERNEL --kernel new=KERNEL
    """
    from profdiff import examples

    known = {
        folder.name: folder
        for folder in sorted(Path(next(iter(examples.__path__))).iterdir())
        if (folder / _EXPERIMENT).is_file()
    }
    if name is None:
        width = max(map(len, known))
        for one, folder in known.items():
            say(f"{one:{width}}  {_title(folder)}")
        return
    if name not in known:
        meant = did_you_mean(name, list(known)) or "profdiff example lists them"
        raise InputError(f"there is no example {name!r}: {meant}")
    target = Path(name)
    if target.exists() or target.is_symlink():
        raise InputError(f"{name} is here already: move it, or go to another folder")
    with temporary_folder(beside=target) as folder:
        # Not copytree(), which says of a full disk what it says of each file, in one line.
        for path in (known[name], *sorted(known[name].rglob("*"))):
            copy = folder / name / path.relative_to(known[name])
            copy.mkdir() if path.is_dir() else shutil.copyfile(path, copy)
        (folder / name).rename(target)
    say(f"cd {name} && profdiff record    # {_EXPERIMENT} names Debian's kernels, --kernel others")


def _title(folder: Path) -> str:
    """The first heading of its README."""
    with (folder / "README.md").open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").strip()
