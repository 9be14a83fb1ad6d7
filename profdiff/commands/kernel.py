"""``profdiff kernel``: names for kernels, and fetching them beforehand."""

from __future__ import annotations

from pathlib import Path

import click

from profdiff.base.cache import symbol_cache
from profdiff.base.errors import InputError, ProfdiffError
from profdiff.base.near import did_you_mean
from profdiff.base.terminal import say, tell
from profdiff.collectors.kernels.spec import KernelArgument, derive_label
from profdiff.commands import complete


@click.group()
def kernel() -> None:
    """Name kernels, list them, fetch them.

    \b
    A SPEC is
      a folder with bzImage and vmlinux, or a kernel build tree
      an image, with its debug ELF:  IMAGE,vmlinux=ELF
      Debian packages:               IMAGE.deb,DEBUG.deb
      a kernel of Debian's archive:  debian:trixie-backports, debian:6.17.13,
                                     debian:sid/amd64 (a flavour),
                                     debian:trixie,arch=arm64
      a machine that runs a kernel:  running, ssh://[user@]host[:port]
    """


@kernel.command()
@click.argument("name")
@click.argument("spec", shell_complete=complete.kernels)
def add(name: str, spec: str) -> None:
    """Let NAME stand for SPEC in --kernel.

    \b
      profdiff kernel add good ~/linux-6.16
      profdiff kernel add debian debian:trixie-backports
      profdiff record --kernel good --kernel debian -- ./workload

    Paths are made absolute. An existing NAME is replaced. SPEC is checked first: files must be a
    kernel image and a vmlinux of the same build.
    """
    from profdiff.collectors.kernels import registered

    registered.check_name(name)
    _check(registered.absolute(spec), name)
    registered.add(name, spec)
    say(f"{name} = {registered.registered()[name]}")


@kernel.command()
@click.argument("name", shell_complete=complete.names)
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
@click.argument(
    "specs", nargs=-1, required=True, metavar="SPEC|NAME...", shell_complete=complete.kernels
)
def fetch(specs: tuple[str, ...]) -> None:
    """Download kernels now, and print where their files are.

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


def _check(spec: str, name: str) -> None:
    """Raises InputError when ``spec`` cannot be recorded, as far as that shows without a network
    and without unpacking."""
    from profdiff.collectors.kernels.deb_package import check_packages
    from profdiff.collectors.kernels.debian import SUITES, parse
    from profdiff.collectors.kernels.source import locate
    from profdiff.recording.plan import describe_kernel
    from profdiff.symbolization.kernel_chains import open_index

    if spec.startswith("debian:"):
        suite, _, _ = parse(spec)
        if not suite[0].isdigit() and suite not in SUITES:
            meant = did_you_mean(suite, SUITES)
            # A suite of a known release (trixie-updates) may exist.
            if meant and suite.partition("-")[0] not in SUITES:
                raise InputError(f"{spec}: there is no such suite: {meant}")
            meant = meant or f"known are {', '.join(SUITES)}"
            tell(f"{suite} is looked up when it is recorded: {meant}")
        return
    if spec.endswith(".deb"):
        check_packages([Path(part) for part in spec.split(",")])
        return
    files = locate(KernelArgument(name, spec))
    if files.image and files.debug_elf and files.image.samefile(files.debug_elf):
        raise InputError(f"{files.image} is given twice: as the image and as its vmlinux")
    describe_kernel(files)
    if not files.image:
        return
    if not files.debug_elf:
        tell(f"{name} has no debug ELF: inlined functions are not visible")
    elif not open_index(files.debug_elf, symbol_cache()).has_inlines:
        tell(
            f"{files.debug_elf} has no DWARF: inlined functions are not visible (build the kernel "
            "with CONFIG_DEBUG_INFO_DWARF5)"
        )


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
    return (
        ""
        if files.debug_elf or files.machine
        else "(no debug ELF: inlined functions are not visible)"
    )
