"""A report of each kind, made by the commands that the site shows; and the recordings that they are
of, which a folder keeps."""

import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import MissingError
from profdiff.collectors.kernels.apt import Apt
from profdiff.session.session import Session

ROOT = Path(__file__).parent.parent.parent
PROGRAM = ROOT / "examples/mprotect-pte-batching/region-size.c"
# Where the sources of the mprotect session's kernels are.
SUITES = ("bookworm-backports", "trixie-backports")


@dataclass(frozen=True)
class Recording:
    """A session or suite: ``name``.profdiff, which ``command`` makes."""

    name: str
    command: str
    about: str


@dataclass(frozen=True)
class Report:
    """``made``: the file or folder that the command writes; ``page``: what of it a reader opens."""

    title: str
    command: str
    made: str
    page: str
    about: str


RECORDINGS = [
    Recording(
        "mprotect",
        """\
profdiff record --kernel base=debian:bookworm-backports \\
    --kernel new=debian:trixie-backports --zip \\
    --sweep size_kib=4,40,400,4000 --sweep iters=4000,2000,400,40 \\
    --ops '{iters}' -o mprotect.profdiff -- ./region-size.c '{size_kib}' '{iters}'""",
        "The [tutorial](docs/tutorial.md)'s session: `mprotect()` over four sizes of a region.",
    ),
    Recording(
        "memory",
        """\
profdiff record --suite memory --vary-state 0 --kernel v6.1=debian:bookworm \\
    --kernel v6.12=debian:bookworm-backports --kernel v7.3=debian:trixie-backports""",
        "The part of the built-in suite that is about memory, on three of Debian's kernels.",
    ),
]
# What a report is of that no command names: the newest sources of the mprotect session's kernels.
SOURCES = "linux"
REPORTS = [
    Report(
        "A session's page",
        "profdiff report mprotect.profdiff --html session.html",
        "session.html",
        "session.html",
        "Which functions execute more, by how much, and through which instructions: flamegraphs "
        "of both kernels, the table of functions, their code, the data that they access.",
    ),
    Report(
        "A blame",
        f"profdiff blame mprotect.profdiff --repo {SOURCES} --html blame.html",
        "blame.html",
        "blame.html",
        "The same page with the commits whose lines executed more. The sources are two of "
        "Debian's packages, each directory a commit, as "
        "[import-sources](examples/debian-sources/import-sources) makes them.",
    ),
    Report(
        "A suite's site",
        "profdiff report memory.profdiff --site suite",
        "suite",
        "suite/index.html",
        "What each cell of a suite costs on each kernel, and a page for each.",
    ),
    Report(
        "An atlas",
        "profdiff atlas memory.profdiff mprotect.profdiff --site atlas",
        "atlas",
        "atlas/index.html",
        "Each cell's line over releases, and the functions that made its steps.",
    ),
    Report(
        "An annotation",
        "profdiff annotate mprotect.profdiff change_pte_range --text annotation.txt",
        "annotation.txt",
        "annotation.txt",
        "A function's code on both kernels, with how often each instruction ran.",
    ),
    Report(
        "A mail",
        "profdiff mail mprotect.profdiff --from developer@example.org -o mail.eml",
        "mail.eml",
        "mail.eml",
        "The draft of a mail to a kernel list.",
    ),
    Report(
        "The difference as a flamegraph",
        "profdiff report mprotect.profdiff --svg difference.svg",
        "difference.svg",
        "difference.svg",
        "A picture for a mail or a slide.",
    ),
]


def live_reports(recordings: Path, folder: Path) -> str:
    """Make all reports in ``folder``, of what is in ``recordings`` or is recorded into it now; the
    document that leads to them."""
    recordings.mkdir(parents=True, exist_ok=True)
    for one in RECORDINGS:
        record(one, recordings)
    sources(recordings)
    folder.mkdir()
    with tempfile.TemporaryDirectory() as temporary:
        here = Path(temporary)
        for path in recordings.iterdir():
            (here / path.name).symlink_to(path)
        for report in REPORTS:
            run(report.command, here)
            (here / report.made).rename(folder / report.made)
    return "\n".join(document(folder))


def record(one: Recording, recordings: Path) -> None:
    """Unless it is there. What is interrupted goes on the next time."""
    made = recordings / f"{one.name}.profdiff"
    if made.exists():
        return
    unfinished = recordings / "unfinished"
    unfinished.mkdir(exist_ok=True)
    shutil.copy(PROGRAM, unfinished)
    run(one.command, unfinished)
    (unfinished / made.name).rename(made)


def sources(recordings: Path) -> None:
    """The repository that blame asks, unless it is there."""
    made = recordings / SOURCES
    if made.exists():
        return
    kernels = Session.open(recordings / "mprotect.profdiff").manifest.kernels
    with tempfile.TemporaryDirectory(dir=recordings) as temporary:
        packages = []
        for kernel, suite in zip(kernels, SUITES, strict=True):
            version = (kernel.release or "").partition("+")[0]
            name = f"linux-source-{'.'.join(version.split('.')[:2])}"
            apt = Apt((suite,))
            wanted = [one for one in apt.packages(name) if one.version.startswith(f"{version}-")]
            if not wanted:
                raise MissingError(f"{suite} has no {name} of version {version}: record again")
            place = Path(temporary) / suite
            place.mkdir()
            packages += apt.download(name, wanted[:1], place)
        script = ROOT / "examples/debian-sources/import-sources"
        subprocess.run([script, Path(temporary) / SOURCES, *packages], check=True)
        (Path(temporary) / SOURCES).rename(made)


def run(command: str, folder: Path) -> None:
    """One of profdiff's commands, as it would be typed there. What it prints is not wanted."""
    words = [sys.executable, "-m", *shlex.split(command.replace("\\\n", ""))]
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def document(folder: Path) -> Iterator[str]:
    """What is there, and by which commands it was made."""
    yield "# Live reports"
    yield ""
    yield "Each of these was made by the command above it, and loads nothing from a network."
    for report in REPORTS:
        yield f"\n## {report.title}\n\n{report.about}\n\n```\n$ {report.command}\n```\n"
        if report.page.endswith((".txt", ".eml")):
            yield f"`````\n{(folder / report.page).read_text()}`````\n"
        if report.page.endswith(".svg"):
            picture = f'<img src="reports/{report.page}" alt="{report.title}">'
            yield f'<p><a href="reports/{report.page}">{picture}</a></p>\n'
        else:
            yield f'<p><a href="reports/{report.page}">Open {report.page}</a></p>\n'
    yield "\n## The recordings\n"
    for one in RECORDINGS:
        yield f"{one.about}\n\n```\n$ {one.command}\n```\n"
