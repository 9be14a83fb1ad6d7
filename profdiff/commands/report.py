"""``profdiff report``: what a recording shows."""

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from profdiff.base import terminal, units
from profdiff.base.errors import InputError
from profdiff.base.names import did_you_mean
from profdiff.commands import complete
from profdiff.commands.command import Command, command
from profdiff.commands.output import Output, output_options, write
from profdiff.commands.recording import CELL, SESSION, damage, find, works_on
from profdiff.reports.form import Subject
from profdiff.session.held import held
from profdiff.session.states import RELEVANT

if TYPE_CHECKING:
    from profdiff.collectors.calibration.prices import Prices
    from profdiff.profile.data.cells import By
    from profdiff.session.opened import Opened
    from profdiff.session.suite import SuiteWorkload
    from profdiff.views.suite import SuiteDamage


LIST = "topics"
# The topic that has a place for prices.
PRICED = "inventory"


@command(
    headings={
        "What to show": ("--at", "--cell", "--metric", "--only", "--tag", "--threshold", "--by"),
        "Rows and figures": (
            *("--top", "--sort", "--min-delta", "--kernel-only", "--user-only", "--per-op"),
            *("--ratio", "--fold-folios", "--prices", "--width", "--ascii"),
        ),
        "Write a file": (
            *("--html", "--text", "--json", "--csv", "--csv-experiment", "--site", "--charts"),
            *("--svg", "--svg-side-by-side", "--folded", "--folded-diff", "--speedscope"),
            *("--firefox", "--pprof"),
        ),
        "Topics, like TOPIC": ("--events", "--types", "--layout", "--sharing", "--inventory"),
    }
)
@SESSION
@click.argument("topic", required=False, shell_complete=complete.topics)
@works_on(
    "--at",
    held=("session", "parts"),
    metavar="NAME=VALUE,...",
    shell_complete=complete.points,
    help="Show functions at this point of the sweep; vCPUs=N is a parameter too.  [default: the "
    "point with the largest change]",
)
@CELL
@works_on(
    "--threshold",
    held=["suite"],
    metavar="PERCENT",
    help=f"Show only the suite's cells that changed by at least this.  [default: "
    f"{100 * RELEVANT:g}%]",
)
@works_on(
    "--only",
    held=["suite"],
    multiple=True,
    metavar="GLOB",
    help="Show only the suite's cells whose name matches GLOB: 'mprotect*'. Can be repeated.",
)
@works_on(
    "--tag",
    "tags",
    held=["suite"],
    multiple=True,
    metavar="TAG",
    help="Show only the suite's cells with this tag. Can be repeated.",
)
@works_on(
    "--layout",
    held=["session"],
    is_flag=True,
    help="Show instead where accessed fields and variables lie in lines of the cache, and what of "
    "that changed; --csv and --json have all of it. Exact counts only.",
)
@works_on(
    "--types",
    held=["session"],
    is_flag=True,
    help="Show instead which fields of types, variables and parts of the stack the kernel loads "
    "and stores, and which functions do; --csv and --json have all of it. Exact counts only.",
)
@works_on(
    "--sharing",
    held=["session"],
    is_flag=True,
    help="Show instead which data lies in cache lines that change hands between vCPUs, and which "
    "functions miss them; --csv and --json have all of it. Needs runs with --collector sharing. It "
    "counts transfers, not time, and no lock is ever waited for.",
)
@works_on(
    "--events",
    held=["session"],
    is_flag=True,
    help="Show instead how often events happened in the kernel: context switches, interrupts, page "
    "faults, allocations, waits; --csv and --json have all of it. Exact counts only.",
)
@works_on(
    "--inventory",
    held=["session"],
    is_flag=True,
    help="Show instead how often each kind of instruction ran, and in which functions: returns, "
    "calls, locked and serialising instructions, jumps, loads and stores; --csv and --json have "
    "all of it. Exact counts only.",
)
@works_on(
    "--prices",
    held=["session"],
    metavar="FILE|CPU",
    type=click.Path(path_type=Path),
    help="Show the inventory, and what each changed item of it would cost at the prices in FILE, "
    "which profdiff calibrate wrote, or of a CPU that profdiff knows (a wrong name lists them).  "
    "[default: prices.json in SESSION, if it is there]",
)
@click.option(
    "--by",
    type=click.Choice(["type", "field", "line"]),
    help="With --types: show a row for each type, field or cache line.  [default: field]",
)
@click.option(
    "--fold-folios",
    is_flag=True,
    help="With --types: count fields of struct folio as those of struct page at the same offset.",
)
@output_options
def report(
    session: Path | None,
    topic: str | None,
    at: str | None,
    cell: str | None,
    threshold: str | None,
    only: Sequence[str],
    tags: Sequence[str],
    layout: bool,
    types: bool,
    sharing: bool,
    events: bool,
    inventory: bool,
    by: "By | None",
    fold_folios: bool,
    prices: Path | None,
    output: Output,
) -> int:
    """Show the results of SESSION: the metrics of each point with their spread and verdict, and the
    functions that cost more. SESSION defaults to the newest session in this folder. With several
    architectures or compilers, report shows their changes side by side. For a suite, report shows
    how many cells cost more, which cells these are, and which functions cause it. It names damaged
    workloads, skips them, and then exits with status 1.

    TOPIC shows one thing instead: 'profdiff report topics' lists what there is.

    report prints text unless you ask for a file. The base is the first kernel of the session.
    """
    # `--html SESSION` would take the session for the page's file and overwrite nothing of worth,
    # but it is not what was meant.
    page = output.targets.get("html")
    if session is None and page and held(Path(page)):
        session, output = Path(page), output._replace(targets={**output.targets, "html": ""})
    from profdiff.reports.topics import TOPICS, TopicOptions

    session, topic_name = _parted(session, topic, TOPICS)
    if topic_name == LIST:
        width = max(map(len, TOPICS))
        write("-", "".join(f"{name:{width}}  {one.about}\n" for name, one in TOPICS.items()))
        return 0
    aliases = {
        "layout": layout,
        "types": types,
        "sharing": sharing,
        "events": events,
        "inventory": inventory,
    }
    names = [name for name, given in aliases.items() if given]
    names += [topic_name] if topic_name and topic_name not in names else []
    # Topics that are no options are called as they are typed.
    called = [f"--{name}" if name in aliases else name for name in names]
    if len(names) > 1:
        raise InputError(f"{units.listed(called)} cannot be used together")
    if prices and not names and output.targets.keys() <= {"text", "json", "csv"}:
        names, called = [PRICED], ["--prices"]
    name = names[0] if names else None
    if prices and name not in (PRICED, None):
        raise InputError(f"--prices works only with --{PRICED}")
    for option, given in (("--by", by), ("--fold-folios", fold_folios)):
        if given and name != "types":
            raise InputError(f"{option} works only with --types")
    from profdiff.reports import kept_text
    from profdiff.session.session import Session

    recording, at = find(session, cell, at)
    show = partial(_found, recording, at, threshold, only, tags, output.asked.metric, prices)
    found = cache(show)
    subject = Subject(recording, found, output.asked)
    if name:
        chosen = TOPICS[name]
        if output.asked.selection.side in chosen.sides:
            raise InputError(f"{called[0]} {chosen.why}")
        options = TopicOptions(by, fold_folios, at)
        output.write_instead(called[0], chosen.forms(name, options), subject)
        return damage(recording)
    if isinstance(recording, Session) and not output.targets and not output.asked.per_op:
        write("-", kept_text.session_text(recording, at, output.asked))
        return damage(recording)
    output.write(subject)
    if recording.held == "suite":
        return tell_damaged(subject.find().damaged)
    return damage(recording)


def _parted(
    session: Path | None, topic: str | None, topics: Collection[str]
) -> tuple[Path | None, str | None]:
    """The session and the topic, in either order, of which either may be missing. Raises InputError
    for a topic that there is not."""
    known = {*topics, LIST}
    if session is not None and not session.exists() and topic not in known:
        if str(session) in known:
            session, topic = Path(topic) if topic else None, str(session)
        elif topic is None and (hint := did_you_mean(str(session), known)):
            raise InputError(f"{session} is neither a session nor a topic: {hint}")
    if topic is not None and topic not in known:
        if Path(topic).exists() or "." in topic:
            context = click.get_current_context()
            raise click.UsageError(cast("Command", context.command).too_many(context, topic))
        hint = did_you_mean(topic, known) or f"'profdiff report {LIST}' lists them"
        raise InputError(f"unknown topic {topic}: {hint}")
    return session, topic


def _prices(name: Path | None) -> "Prices | None":
    """Those of a file, or else those of a CPU that come along. Raises InputError."""
    from profdiff import examples
    from profdiff.collectors.calibration.prices import read_prices

    if name is None:
        return None
    presets = {
        path.stem: path for path in Path(next(iter(examples.__path__)), "prices").glob("*.json")
    }
    if name.exists() or not presets:
        return read_prices(name)
    if str(name) not in presets:
        known = ", ".join(sorted(presets))
        raise InputError(f"there is no file {name}; profdiff knows these CPUs: {known}")
    return read_prices(presets[str(name)])


def _found(
    recording: "Opened",
    at: str | None,
    threshold: str | None,
    only: Sequence[str],
    tags: Sequence[str],
    metric: str | None,
    prices: Path | None,
) -> Any:
    """What is reported."""
    from profdiff.evidence.findings import LazyFindings
    from profdiff.evidence.parts import PartsFindings
    from profdiff.session.parts import Parts
    from profdiff.session.session import Session

    if isinstance(recording, Session):
        return LazyFindings.of(recording, at, metric, _prices(prices))
    if isinstance(recording, Parts):
        return PartsFindings.of(recording, at)
    from profdiff.evidence.suite import SuiteResults
    from profdiff.reports import suite_document
    from profdiff.views.suite import parsed

    def wanted(name: str, workload: "SuiteWorkload") -> bool:
        fits = not only or any(fnmatchcase(name, glob) for glob in only)
        return fits and (not tags or not set(tags).isdisjoint(workload.tags))

    least = parsed(threshold)
    return suite_document.of_results(SuiteResults.gather(recording, wanted=wanted), least)


def tell_damaged(damaged: "Sequence[SuiteDamage]") -> int:
    """Name what a report leaves out; the exit status: 1 where there is any."""
    for one in damaged:
        terminal.tell(f"{one.name} is left out: {one.why}")
    return 1 if damaged else 0
