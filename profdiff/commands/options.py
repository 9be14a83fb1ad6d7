"""``profdiff options``: what options of a config, and of a boot, cost on one kernel."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from profdiff.base import units
from profdiff.base.errors import InputError, RunError
from profdiff.base.terminal import printable, say, tell
from profdiff.commands.command import Headings
from profdiff.commands.experiment.file import ExperimentCommand, GivenSuite
from profdiff.commands.experiment.options import HEADINGS, experiment_options
from profdiff.commands.experiment.request import TOGGLED
from profdiff.commands.output import TOP, TableOutput, table_options
from profdiff.commands.plan import show_plan
from profdiff.commands.record import record_experiment
from profdiff.session.held import held

if TYPE_CHECKING:
    from profdiff.collectors.kernels.kinds.registry import KernelArgument
    from profdiff.collectors.kernels.toggles import Toggled

_BASE = "base"
_NAMED = 6


class OptionsCommand(ExperimentCommand):
    """REV stands in front of all else; the kernels are made of it, and ``--append`` is of one
    kernel each."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and not args[0].startswith("-"):
            args = ["--base", *args]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["REV", *super().collect_usage_pieces(ctx)]

    def context_of(self, ctx: click.Context, suite: Any, entry: Any) -> click.Context:
        own = super().context_of(ctx, suite, entry)
        own.params["append"] = ""
        return own


_HEADINGS: Headings = {
    "Options and how to show them": (
        *("--base", "--toggle", "--append", "--dry-run", "--fail-if", "--top", "--csv", "--json"),
        *("--html", "--width", "--ascii"),
    )
}


@click.command(cls=OptionsCommand, headings={**_HEADINGS, **HEADINGS})
@click.option(
    "--base",
    metavar="REV",
    help="The base; you can write it first, without --base: a revision of this folder's "
    "repository, git:REPO[@REV][,...], or with --append alone any SPEC. A folder with a "
    "recording: show its options again.",
)
@click.option(
    "--toggle",
    "toggles",
    multiple=True,
    metavar="OPTION[=VALUE],...",
    help="Build a kernel with this option of the config toggled, or set to VALUE.",
)
@click.option(
    "--append",
    multiple=True,
    metavar="ARGUMENTS",
    help="Also boot the base with these kernel arguments, as another kernel. Can be repeated. "
    "Write arguments for all kernels as REV,append=ARGUMENTS.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only show what would be built and recorded, and how long it would take.",
)
@TOP
@table_options(
    "Instead of the tables, judge a condition of profdiff check on each option, for example "
    "'instructions > +1%', in each cell of a suite, and fail if it holds. Can be repeated."
)
@partial(experiment_options, without=["--append"], hidden=["--kernel", "--series", "--compilers"])
def options(
    base: str | None,
    toggles: Sequence[str],
    append: Sequence[str],
    dry_run: bool,
    top: int | None,
    tables: TableOutput,
    **given: Any,
) -> int:
    """Build a kernel for each option of the config, record COMMAND or a suite on all of them, and
    show which option costs how much in which cell, and in which functions.

    \b
      profdiff options v6.18 --toggle SLUB_TINY,INIT_ON_ALLOC_DEFAULT_ON --suite syscalls
      profdiff options git:~/linux@v6.18 --toggle PREEMPT_LAZY -- ./workload.c
      profdiff options debian:trixie --append init_on_alloc=1 -- ./workload.c

    REV is the base. profdiff also sets what an option depends on, and shows what else it changes.
    It names and skips options that Kconfig refuses. Builds share object files: each compiles only
    what depends on its option. Run the same command again to resume. The other options are those of
    profdiff record. With --width 72, the text fits into a mail.

    With --fail-if, the exit status is 1 if a condition holds, 125 if one is inconclusive, else 0.
    """
    tables = tables.limited(top)
    context = click.get_current_context()
    if base is not None and not toggles and not append and held(Path(base)):
        return _show(Path(base), tables)
    if "-" in tables.targets.values() and not dry_run:
        raise InputError(
            "standard output has what record says: record first, then write the tables of its "
            "folder: profdiff options FOLDER --json -"
        )
    kernels = _kernels(base, [one for text in toggles for one in text.split(",")], append, given)
    context.meta[TOGGLED] = [one.label for one in kernels[1:]]
    given |= {"series": None, "append": ""}
    if dry_run:
        _plan(context, kernels, given)
        return 0
    _use(context, kernels, given)
    failed: RunError | None = None
    status = 0
    try:
        record_experiment(given)
    except RunError as error:
        failed = error
    folder = _folder(context, given)
    if held(folder):
        status = _show(folder, tables)
        say(f"profdiff options {shlex.quote(str(folder))} shows this again")
    if failed:
        raise failed
    return status


def _folder(context: click.Context, given: dict[str, Any]) -> Path:
    from profdiff.recording.experiments import session_folder

    suite = GivenSuite.of(context)
    if suite and given["output"] is None:
        return Path(f"{suite.file.name}.profdiff")
    return session_folder(given["output"], given["command"])


def _show(folder: Path, tables: TableOutput) -> int:
    """Write the table, or judge. Returns the exit status. Raises SessionError, InputError,
    UndecidedError."""
    from profdiff.api.judged import judged
    from profdiff.evidence.atlas import as_suite
    from profdiff.evidence.suite import SuiteResults
    from profdiff.session import opened
    from profdiff.topics.options.shapes import section

    results = SuiteResults.gather(as_suite(folder))
    return tables.write(
        section(results),
        f"What {units.listed(results.labels[1:])} cost against {results.base}",
        lambda conditions: judged(opened.open(folder), conditions, ()),
        suite=not results.suite.alone,
    )


def _use(context: click.Context, kernels: Sequence[KernelArgument], given: dict[str, Any]) -> None:
    """Let the experiment, or each of the suite, have these kernels."""
    from profdiff.collectors.kernels.variant import suffix

    texts = [f"{one.label}={one.spec}{suffix(one.variant)}" for one in kernels]
    given["kernels"] = texts
    GivenSuite.add(context, [word for text in texts for word in ("--kernel", text)])


def _kernels(
    base: str | None, toggles: Sequence[str], append: Sequence[str], given: dict[str, Any]
) -> list[KernelArgument]:
    """The base, and a kernel for each option that Kconfig takes. Says what each takes, and which it
    refuses. Raises InputError where none is left."""
    from profdiff.collectors.kernels.building.job import BuildJob
    from profdiff.collectors.kernels.kinds.git import FromGit
    from profdiff.collectors.kernels.kinds.registry import KernelArgument
    from profdiff.collectors.kernels.label import label_of
    from profdiff.collectors.kernels.toggles import Toggle, toggled
    from profdiff.collectors.kernels.variant import split

    if not base:
        raise InputError("no kernel: write profdiff options REV --toggle OPTION,...")
    wanted = list(dict.fromkeys(map(Toggle.parse, toggles)))
    if not wanted and not append:
        raise InputError("no option: add --toggle OPTION,... or --append ARGUMENTS")
    if len(given["architectures"] or []) > 1 or given["compilers"]:
        raise InputError("one architecture and compiler: write REV,arch=ARCH,cc=COMPILER")
    first = _base(base, given, built=bool(wanted))
    found = [first]
    if wanted and isinstance(first.spec, FromGit):
        job = BuildJob.of(first.spec.git)
        tell(f"{first.spec}: Kconfig answers for {units.counted(len(wanted), 'option')}")
        for one in toggled(job, wanted):
            _tell(one)
            if not one.refused:
                spec = FromGit.of(job.toggled(one.settings).spec)
                found.append(KernelArgument(label_of(str(one.toggle)), spec, first.variant))
    for arguments in append:
        # As a SPEC has them, so that what cannot be is refused alike.
        _, variant = split(f"{_BASE},append='{arguments}'")
        label = label_of(arguments)
        found.append(KernelArgument(label, first.spec, first.variant.also(variant)))
    labels = [one.label for one in found]
    if again := next((label for label in labels if labels.count(label) > 1), None):
        raise InputError(f"{again} is given twice: name each option once")
    if len(found) < 2:
        raise InputError("nothing to record: Kconfig refuses every option")
    return found


def _base(text: str, given: dict[str, Any], *, built: bool) -> KernelArgument:
    """The kernel that ``text`` names. ``built``: it must be one from git. Raises InputError."""
    from profdiff.collectors.kernels.git_spec import git_meant
    from profdiff.collectors.kernels.kinds.git import FromGit
    from profdiff.collectors.kernels.kinds.registry import KernelArgument, parse_varied
    from profdiff.collectors.kernels.registered import registered

    head, comma, rest = text.partition(",")
    spec, variant = parse_varied(text)
    is_other = ":" in head or head in registered() or Path(head).exists()
    if not isinstance(spec, FromGit) and (built or not is_other) and (meant := git_meant(head)):
        spec, variant = parse_varied(f"{meant}{comma}{rest}")
    if built and not isinstance(spec, FromGit):
        raise InputError(
            f"{text} is not built from git: for --toggle, write git:REPO@REV, or a revision of "
            "this folder's repository"
        )
    if isinstance(spec, FromGit) and (architectures := given["architectures"]):
        spec = FromGit.of(replace(spec.git, architecture=architectures[0]))
    return KernelArgument(_BASE, spec, variant)


def _tell(one: Toggled) -> None:
    toggle = one.toggle
    if one.refused:
        tell(printable(f"{toggle}: refused: {one.refused}"))
        return
    told = [f"needs {', '.join(one.needs)}"] if one.needs else []
    told += [f"also changes {units.few(one.changes, _NAMED)}"] if one.changes else []
    tell(printable(f"{toggle}: {'; '.join(told) or 'changes nothing else'}"))


def _plan(context: click.Context, kernels: Sequence[KernelArgument], given: dict[str, Any]) -> None:
    """Say what is built and how long that takes, then what is recorded: by what a run on the base
    takes, where the others are not built yet."""
    from profdiff.collectors.kernels.building.job import BuildJob
    from profdiff.collectors.kernels.building.kept import kept_folder, seconds_of_builds
    from profdiff.collectors.kernels.kinds.git import FromGit

    jobs = {one: BuildJob.of(one.spec.git) for one in kernels if isinstance(one.spec, FromGit)}
    waiting = [one for one, job in jobs.items() if not kept_folder(job.key).is_dir()]
    for one in kernels:
        state = "to be built" if one in waiting else "built" if one in jobs else "as it is"
        say(printable(f"{one.label}: {one.spec}{_given(one)}: {state}"))
    base = kernels[0]
    if waiting:
        job = jobs[waiting[0]]
        whole, further = seconds_of_builds(job.source.repository, job.objects)
        number = len(waiting) - (base in waiting)
        low = number * min(further or [0]) + (min(whole or [0]) if base in waiting else 0)
        high = number * max(further or whole or [0]) + (max(whole or [0]) if base in waiting else 0)
        told = units.span(low, high) if high else "no build like these is known"
        say(f"{units.counted(len(waiting), 'build')}: {told}")
    if base in waiting:
        say("how long runs take shows when the base is built")
        return
    # A run takes as long on any of them.
    ready = [replace(one, spec=base.spec) if one in waiting else one for one in kernels]
    _use(context, ready, given)
    show_plan(given)


def _given(kernel: KernelArgument) -> str:
    words = kernel.variant.words
    return f", given {' '.join(words)}" if words else ""
