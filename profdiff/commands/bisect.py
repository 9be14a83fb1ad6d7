"""``profdiff bisect``: from a repository to a confirmed culprit."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from profdiff.base.errors import InputError
from profdiff.base.terminal import say, tell
from profdiff.collectors import registry
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.commands.command import OUTPUT_FOLDER, command
from profdiff.commands.experiment.options import HEADINGS, experiment_options

if TYPE_CHECKING:
    from profdiff.recording.experiment import RecordOptions

# A run decides, and the next revision is chosen by it: only exact counts can do that.
_COLLECTOR = "exact"
# What of an experiment's options a bisection has, beside those of the collector.
_TAKEN = {
    "sweep",
    "difference",
    "files",
    "no_files",
    "sysroots",
    "ops",
    "memory",
    "cpus",
    "cpu_models",
    "append",
    "settle",
    "timeout",
    "restore",
    "observe",
    "qemu",
    "command",
}


class Fraction(click.ParamType[float]):
    """``1%``."""

    name = "fraction"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        text = str(value).removesuffix("%")
        try:
            found = float(text) / 100
        except ValueError:
            found = -1
        if not str(value).endswith("%") or not 0 < found <= 1000:
            self.fail(f"{value!r} is not a percentage of good: write 1% or 0.5%", param, ctx)
        return found


def _workload_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Those of ``record`` that say what runs and in what guests, and COMMAND."""

    @experiment_options
    def every() -> None: ...

    own = {option.name for option in registry.collector(_COLLECTOR).options}
    taken = [one for one in every.__dict__["__click_params__"] if one.name in _TAKEN | own]
    command.__dict__.setdefault("__click_params__", []).extend(taken)
    return command


@command(
    headings={
        "The search": (
            *("--good", "--bad", "--when", "--repo", "--with", "--config", "--cc", "--all"),
            *("--threshold", "--suspects", "--output"),
        ),
        **HEADINGS,
    }
)
@click.option(
    "--repo",
    default=Path(),
    type=click.Path(path_type=Path),
    metavar="LINUX",
    help="The git repository to build kernels from.  [default: that of this folder]",
)
@click.option("--good", required=True, metavar="REV", help="A revision without the change.")
@click.option("--bad", required=True, metavar="REV", help="A revision with the change.")
@click.option(
    "--when",
    "condition",
    metavar="CONDITION",
    help="A revision is bad if CONDITION holds relative to the good one, as in profdiff check: "
    "'instructions:change_pte_range > +5%'.  [default: its count is nearer to bad's than to "
    "good's]",
)
@click.option(
    "--config",
    default="",
    metavar="FILE|distribution",
    help="The config of all kernels, as config= in a SPEC.",
)
@click.option(
    "--cc",
    "compiler",
    default="",
    metavar="COMPILER",
    help="The compiler of all kernels, as cc= in a SPEC.",
)
@click.option(
    "--arch",
    "architecture",
    type=click.Choice([architecture.arch for architecture in ARCHITECTURES]),
    help="The architecture of the kernels.  [default: this machine's]",
)
@click.option(
    "--with",
    "patches",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATCH",
    help="Build each revision with this patch on top where it applies: a fix without which some do "
    "not build or boot. Can be repeated.",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FOLDER,
    metavar="FOLDER",
    help="The folder of the bisection.  [default: WORKLOAD.bisect]",
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Find every step of the history that is larger than --threshold, not only the culprit.",
)
@click.option(
    "--threshold",
    type=Fraction(),
    default=0.01,
    metavar="PERCENT",
    help="Smallest step that --all finds, relative to the value of good.  [default: 1%]",
)
@click.option(
    "--suspects/--no-suspects",
    default=True,
    help="Try the commit that profdiff blame suspects, and its parent, before git bisect chooses.",
)
@_workload_options
def bisect(
    repo: Path,
    good: str,
    bad: str,
    condition: str | None,
    config: str,
    compiler: str,
    architecture: str | None,
    patches: tuple[Path, ...],
    output: Path | None,
    every: bool,
    threshold: float,
    suspects: bool,
    **options: Any,
) -> None:
    """Find the commit between two revisions that made COMMAND slower: build the kernels that git
    bisect asks for, count what COMMAND executes on each, and revert the commit that it finds.

    FOLDER/git is a worktree without files in which git bisect runs: git -C FOLDER/git bisect log
    shows how far it is. Your checkout is left alone. At the end, FOLDER/evidence.profdiff has the
    culprit beside its parent, and the bad revision beside the same with the culprit reverted:
    report and mail show it. Run the same command again to resume an interrupted bisection.
    """
    from profdiff.bisection.bisecting import Asking
    from profdiff.bisection.bisecting import bisect as run
    from profdiff.collectors.architecture import named
    from profdiff.collectors.kernels.git_spec import GitSpec
    from profdiff.collectors.kernels.variant import split
    from profdiff.evidence.conditions.condition import Condition
    from profdiff.recording import copies
    from profdiff.views.bisection import sentences

    source = click.get_current_context().get_parameter_source("threshold")
    if source is click.core.ParameterSource.COMMANDLINE and not every:
        raise InputError("--threshold is the smallest step that --all finds: add --all")
    if not options["command"]:
        raise InputError("no COMMAND: write the command to bisect with after --")
    for name, revision in (("--good", good), ("--bad", bad)):
        if words := split(revision)[1].words:
            raise InputError(
                f"{name} {revision}: a bisection gives all revisions the same guest: write "
                f"--append, --memory, --cpus or --cpu instead of {' '.join(words)}"
            )
    folder = output or Path(f"{Path(options['command'][0]).stem}.bisect")
    plain = GitSpec(
        repository=repo,
        config=config,
        compiler=compiler,
        architecture=named(architecture) if architecture else None,
    ).absolute()
    experiment = _experiment(options, folder)
    copies.refuse_early(options["command"], experiment.sweep, in_root=bool(experiment.sysroots))
    session = run(
        Asking(
            plain=plain,
            good=good,
            bad=bad,
            condition=Condition.parse(condition) if condition else None,
            folder=folder,
            experiment=experiment,
            all_above=threshold if every else None,
            suspects=suspects,
            patches=[patch.expanduser().absolute() for patch in patches],
        )
    )
    if session.manifest.bisection:
        for sentence in sentences(session.manifest.bisection):
            say(sentence)
    place = shlex.quote(str(session.folder))
    say(f"profdiff report {place}")
    say(f"profdiff mail {place}")
    worktree = str((folder / "git").absolute())
    repository = str(plain.repository)
    removal = shlex.join(["git", "-C", repository, "worktree", "remove", "--force", worktree])
    tell(f"before you delete {folder}: {removal}")


def _experiment(options: dict[str, Any], folder: Path) -> RecordOptions:
    """The workload and its guests. Raises InputError."""
    from profdiff.recording.experiment import RecordOptions
    from profdiff.recording.sweep import Sweep
    from profdiff.session import manifest as m

    context = click.get_current_context()
    collected = {
        option.name: options.get(option.name, option.get_default(context))
        for option in registry.options()
        if option.name
    }
    if len(options["cpus"]) > 1:
        raise InputError("--cpus: a bisection measures one point: give one number of vCPUs")
    if any("," in text.partition("=")[2] for text in options["sweep"]):
        raise InputError("--sweep: a bisection measures one point: give each parameter one value")
    points = (options["sweep"], False, options["difference"], options["ops"], options["cpus"])
    machine = ("memory", "append", "settle", "timeout")
    return RecordOptions(
        kernels=[],
        series=frozenset(),
        architectures=[],
        compilers=[],
        output=folder,
        collectors=[_COLLECTOR],
        options=collected,
        given=frozenset(),
        sweep=Sweep(*points),
        files=options["files"],
        no_files=options["no_files"],
        sysroots=options["sysroots"],
        guest=m.Guest(**{name: options[name] for name in machine}),
        restore=options["restore"],
        cpu_models=options["cpu_models"],
        repeat=1,
        twin_repeat=0,
        verify=False,
        order=m.Order(),
        observe=options["observe"],
        qemu=options["qemu"],
        command=options["command"],
    )
