"""``profdiff kernel``: names for kernels, and fetching them beforehand."""

from __future__ import annotations

from pathlib import Path

import click

from profdiff.base.errors import ProfdiffError
from profdiff.base.terminal import say, tell
from profdiff.collectors.kernels.spec import KernelArgument, derive_label


@click.group()
def kernel() -> None:
    """Name kernels, list them, fetch them.

    \b
    A SPEC is
      a folder with bzImage and vmlinux, or a kernel build tree
      an image, with its debug ELF:  IMAGE,vmlinux=ELF
      Debian packages:               IMAGE.deb,DEBUG.deb
      a kernel of Debian's archive:  debian:trixie-backports, debian:6.17.13,
                                     debian:sid/amd64 (a flavour)
    """


@kernel.command()
@click.argument("name")
@click.argument("spec")
def add(name: str, spec: str) -> None:
    """Let NAME stand for SPEC in --kernel.

    \b
      profdiff kernel add good ~/linux-6.16
      profdiff kernel add debian debian:trixie-backports
      profdiff record --kernel good --kernel debian -- ./workload

    Paths are made absolute. An existing NAME is replaced.
    """
    from profdiff.collectors.kernels import registered

    registered.add(name, spec)
    say(f"{name} = {registered.registered()[name]}")


@kernel.command()
@click.argument("name")
def remove(name: str) -> None:
    """Forget NAME. Files stay where they are."""
    from profdiff.collectors.kernels import registered

    registered.remove(name)


@kernel.command("list")
def list_() -> None:
    """List names, what they stand for, and any problems."""
    from profdiff.collectors.kernels import registered

    names = registered.registered()
    if not names:
        tell("no kernels registered yet: use profdiff kernel add NAME SPEC")
    width = max(map(len, names), default=0)
    for name, spec in names.items():
        say(f"{name:{width}}  {spec}  {_state(name, spec)}".rstrip())


@kernel.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC|NAME...")
def fetch(specs: tuple[str, ...]) -> None:
    """Download and unpack kernels now, and print where their files are.

    \b
      profdiff kernel fetch debian:bookworm-backports debian:trixie-backports
    """
    from profdiff.collectors.kernels.source import locate

    for spec in specs:
        files = locate(KernelArgument(derive_label(spec), spec))
        say(f"{spec}:")
        paths = (files.image, files.debug_elf, files.config, files.modules)
        for what, path in zip(("image", "debug ELF", "config", "modules"), paths, strict=True):
            say(f"  {what:10} {path or '-'}")


def _state(name: str, spec: str) -> str:
    """A remark on a spec that can be checked without a network, and without unpacking."""
    from profdiff.collectors.kernels.source import locate

    if spec.startswith("debian:"):
        return ""
    packages = [Path(part) for part in spec.split(",")]
    if all(package.suffix == ".deb" for package in packages):
        gone = [str(package) for package in packages if not package.is_file()]
        return f"(no such file: {', '.join(gone)})" if gone else ""
    try:
        files = locate(KernelArgument(name, spec))
    except ProfdiffError as error:
        return f"({error})"
    return "" if files.debug_elf else "(no debug ELF: inlined functions are not visible)"
