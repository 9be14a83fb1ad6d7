"""``profdiff kernel``: names for kernels, and fetching them beforehand."""

import click

from profdiff.collectors import kernel_registry
from profdiff.collectors.kernel_files import KernelFiles
from profdiff.collectors.kernel_source import locate
from profdiff.collectors.kernel_spec import KernelArgument, derive_label
from profdiff.errors import ProfdiffError


@click.group()
def kernel() -> None:
    """Name kernels, list them, fetch them."""


@kernel.command()
@click.argument("name")
@click.argument("spec")
def add(name: str, spec: str) -> None:
    """Let NAME stand for SPEC in --kernel."""
    kernel_registry.add(name, spec)
    click.echo(f"{name} = {kernel_registry.lookup(name)}")


@kernel.command()
@click.argument("name")
def remove(name: str) -> None:
    """Forget NAME. Files stay where they are."""
    kernel_registry.remove(name)


@kernel.command("list")
def list_() -> None:
    """List names, what they stand for, and what is wrong with it."""
    names = kernel_registry.registered()
    if not names:
        click.echo("no names yet: profdiff kernel add NAME SPEC", err=True)
    width = max(map(len, names), default=0)
    for name, spec in names.items():
        click.echo(f"{name:{width}}  {spec}  {_state(name, spec)}".rstrip())


@kernel.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC|NAME...")
def fetch(specs: tuple[str, ...]) -> None:
    """Download and unpack kernels now; prints where their files are."""
    for spec in specs:
        files = locate(KernelArgument(derive_label(spec), spec))
        click.echo(f"{spec}:")
        for what, path in _parts(files):
            click.echo(f"  {what:10} {path or '-'}")


def _parts(files: KernelFiles) -> list[tuple[str, object]]:
    return [
        ("image", files.image),
        ("debug ELF", files.debug_elf),
        ("config", files.config),
        ("modules", files.modules),
    ]


def _state(name: str, spec: str) -> str:
    """A remark on a spec that can be checked without a network."""
    if spec.startswith("debian:"):
        return ""
    try:
        files = locate(KernelArgument(name, spec))
    except ProfdiffError as error:
        return f"({error})"
    return "" if files.debug_elf else "(no debug ELF: inlined functions are not visible)"
