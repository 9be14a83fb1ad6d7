"""``profdiff kernel``: names for kernels, and fetching, building and listing them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from profdiff.base import units
from profdiff.base.cache import symbol_cache
from profdiff.base.errors import InputError, ProfdiffError
from profdiff.base.terminal import say, tell
from profdiff.base.units import file_size
from profdiff.commands import complete
from profdiff.commands.command import Command

if TYPE_CHECKING:
    from profdiff.collectors.kernels.building.kept import KeptKernel
    from profdiff.collectors.kernels.files import KernelFiles


_DAYS = 14


@click.group()
def kernel() -> None:
    """Name kernels, list them, fetch and build them.

    \b
    A SPEC is
      a folder with bzImage and vmlinux, or a kernel build tree
      an image, with its debug ELF:  IMAGE,vmlinux=ELF
      Debian packages:               IMAGE.deb,DEBUG.deb
      a kernel of Debian's archive:  debian:trixie-backports, debian:6.17.13,
                                     debian:sid/amd64 (a flavour),
                                     debian:trixie,arch=arm64
      built from a git repository:   git:~/linux@v6.16, git:~/linux (the work tree),
                                     git:~/linux@v6.16+fast.patch~cac1db8c3aad,
                                     git:~/linux@v6.16,config=distribution,cc=clang-18
      a machine that runs a kernel:  running, ssh://[user@]host[:port]
    Settings of the guest, after any SPEC but the last kind:
      ,append=ARGUMENTS  ,memory=SIZE  ,cpus=N  ,cpu=MODEL
    """


@kernel.command(cls=Command)
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
    from profdiff.collectors.kernels.kinds.registry import check_name, parse_varied
    from profdiff.collectors.kernels.variant import suffix

    check_name(name)
    found, variant = parse_varied(spec)
    meant = found.absolute()
    _tell_of(meant.check(name), name)
    registered.add(name, f"{meant}{suffix(variant)}")
    say(f"{name} = {registered.registered()[name]}")


@kernel.command("build", cls=Command)
@click.argument(
    "specs", nargs=-1, required=True, metavar="SPEC|NAME...", shell_complete=complete.kernels
)
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
def build_(specs: tuple[str, ...], quiet: bool) -> None:
    """Build kernels now, and print where they are.

    \b
      profdiff kernel build git:~/linux@v6.16 git:~/linux@v6.16+fast.patch
      profdiff kernel build git:~/linux,cc=clang-18

    What is in the cache is not built again.
    """
    from profdiff.collectors.kernels.git_spec import git_meant
    from profdiff.collectors.kernels.kinds.registry import derive_label, parse

    meant = [parse(text) for text in specs]
    for text, spec in zip(specs, meant, strict=True):
        if not spec.is_built:
            near = git_meant(text)
            also = f"; did you mean {near}?" if near else ""
            raise InputError(f"{text}: profdiff builds only git:REPO[@REV]{also}")
    # A mistake in the last one shows before the first one is built.
    for spec in meant[1:]:
        spec.prepare()
    for spec in meant:
        files = spec.locate(derive_label(str(spec)), quiet=quiet)
        if not quiet and files.image:
            say(f"{files.spec}: {files.image.parent}")


@kernel.command(cls=Command)
@click.argument("name", required=False, shell_complete=complete.names)
@click.option(
    "--unused",
    is_flag=True,
    help="Remove built kernels, their worktrees and saved machines that were not used for some "
    "time. Kernels with a NAME stay.",
)
@click.option(
    "--older-than",
    "days",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help=f"Days since the last use.  [default: {_DAYS}]",
)
def remove(name: str | None, unused: bool, days: float | None) -> None:
    """Forget NAME; its files stay where they are. Or remove built kernels.

    \b
      profdiff kernel remove good
      profdiff kernel remove --unused --older-than 30

    A removed kernel is built again when it is needed. Sessions do not need it, except
    to record more runs.
    """
    from profdiff.collectors.kernels import registered

    if bool(name) == unused or (days is not None and not unused):
        raise InputError("give a NAME to forget, or --unused, with or without --older-than DAYS")
    if name:
        registered.remove(name)
    else:
        _remove_unused(_DAYS if days is None else days)


@kernel.command("list", cls=Command)
def list_() -> None:
    """List names, then kernels that were built."""
    from profdiff.collectors.kernels import registered

    names = registered.registered()
    built = table()
    if not names:
        tell("no kernels registered yet: use profdiff kernel add NAME SPEC")
    width = max(map(len, names), default=0)
    for name, spec in names.items():
        say(f"{name:{width}}  {spec}  {_state(spec)}".rstrip())
    if names and built:
        say("")
    for line in built:
        say(line)


@kernel.command(cls=Command)
@click.argument(
    "specs", nargs=-1, required=True, metavar="SPEC|NAME...", shell_complete=complete.kernels
)
def fetch(specs: tuple[str, ...]) -> None:
    """Fetch kernels now, and print where their files are.

    \b
      profdiff kernel fetch debian:bookworm-backports debian:trixie-backports
    """
    from profdiff.collectors.kernels.kinds.registry import derive_label, parse

    for spec in specs:
        files = parse(spec).locate(derive_label(spec))
        say(f"{spec}:")
        paths = (files.image, files.debug_elf, files.config, files.modules)
        for what, path in zip(("image", "debug ELF", "config", "modules"), paths, strict=True):
            say(f"  {what:10} {path or '-'}")


def _remove_unused(days: float) -> None:
    """Remove what was built and is not in use any more."""
    from profdiff.base.units import file_size
    from profdiff.collectors.guest import machine_state
    from profdiff.collectors.kernels import registered
    from profdiff.collectors.kernels.building.slots import remove_unused
    from profdiff.collectors.kernels.variant import split

    named = {split(spec)[0] for spec in registered.registered().values()}
    kernels, slots, size = remove_unused(days, named)
    what = units.counted(kernels, "kernel")
    where = units.counted(slots, "worktree")
    say(f"removed {what} and {where}: {file_size(size)}")
    machines, size = machine_state.remove_unused(days)
    if machines:
        what = f"{machines} saved machine{'' if machines == 1 else 's'}"
        say(f"removed {what}: {file_size(size)}")


def _tell_of(files: KernelFiles | None, name: str) -> None:
    """Tell what a kernel that is going to be registered lacks. Raises InputError where its files do
    not belong together."""
    from profdiff.collectors.kernels.kinds.spec import NO_DEBUG_ELF
    from profdiff.recording.plan import describe_kernel
    from profdiff.symbolization.kernel_chains import open_whole

    if files is None:
        return
    if files.image and files.debug_elf and files.image.samefile(files.debug_elf):
        raise InputError(f"{files.image} is given twice: as the image and as its vmlinux")
    describe_kernel(files)
    if not files.image:
        return
    if not files.debug_elf:
        tell(f"{name} has {NO_DEBUG_ELF}")
    elif not open_whole(files.debug_elf, symbol_cache()).has_inlines:
        tell(
            f"{files.debug_elf} has no DWARF: inlined functions are not visible (build the kernel "
            "with CONFIG_DEBUG_INFO_DWARF5)"
        )


def _state(text: str) -> str:
    """A remark on what is registered."""
    from profdiff.collectors.kernels.kinds.registry import parse

    try:
        told = parse(text).state()
    except ProfdiffError as error:
        told = str(error)
    return f"({told})" if told else ""


_HEAD = ("release", "compiler", "size", "used", "built from")


def table() -> list[str]:
    """Its lines; none where nothing was built."""
    from profdiff.collectors.kernels.building.kept import kept_kernels

    rows = [_row(one) for one in kept_kernels()]
    if not rows:
        return []
    rows.insert(0, _HEAD)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{word:{width}}" for word, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _row(kernel: KeptKernel) -> tuple[str, ...]:
    about = kernel.about
    return (
        about.release or "?",
        short_compiler(about.source.compiler),
        file_size(kernel.size),
        age(kernel.days),
        about.spec,
    )


def short_compiler(version: str) -> str:
    """``gcc 12.2.0`` of the line that a compiler says of its version."""
    name = "clang" if "clang" in version else "gcc" if "gcc" in version.lower() else "compiler"
    numbers = re.findall(r"\d+(?:\.\d+)+", version)
    return f"{name} {numbers[-1] if name == 'gcc' and numbers else (numbers or ['?'])[0]}"


def age(days: float) -> str:
    """``3 days ago``, in the largest unit that has one."""
    for unit, length in (("day", 1.0), ("hour", 1 / 24), ("minute", 1 / 1440)):
        if days >= length:
            number = int(days / length)
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "now"
