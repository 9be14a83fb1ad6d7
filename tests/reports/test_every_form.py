"""Every form and option of the commands that show a recording, on every kind of recording: it does
what it says, or it is refused in the one way."""

from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from support import error_line, profdiff
from synthetic_joint import POINTS, example, joint, part

from profdiff.commands import annotate, blame, check, mail, report
from profdiff.commands.recording import _Option
from profdiff.reports.command_forms import ANNOTATION_FORMS as ANNOTATE_FORMS
from profdiff.reports.command_forms import BLAME_FORMS as BLAME_FORMS
from profdiff.reports.command_forms import CHECK_FORMS as CHECK_FORMS
from profdiff.reports.form import Form
from profdiff.reports.forms import FORMS
from profdiff.session.held import EVERY, TITLES, Held
from profdiff.session.suite import Suite, SuiteWorkload

# What each command is asked besides its form, and whether it can be of these recordings, which have
# no sources.
COMMANDS: dict[str, tuple[Sequence[Form], Sequence[str], bool]] = {
    "report": (FORMS, (), True),
    "annotate": (ANNOTATE_FORMS, ("flush",), True),
    "check": (CHECK_FORMS, ("--fail-if", "instructions > +900%"), True),
    "blame": (BLAME_FORMS, ("--repo", "/nowhere"), False),
}
CASES = [
    pytest.param(name, form, held, id=f"{name}-{form.name}-{held}")
    for name, (forms, _, _) in COMMANDS.items()
    for form in forms
    for held in EVERY
]
# A value of each option that only some kinds have.
VALUES = {
    "--at": ("folio_kib=4",),
    "--threshold": ("5%",),
    "--only": ("*",),
    "--tag": ("mm",),
    "--metric": ("instructions",),
    "--sort": ("total",),
    "--min-delta": ("1",),
    "--per-op": (),
    "--absolute": (),
    "--layout": (),
    "--types": (),
    "--sharing": (),
    "--events": (),
    "--inventory": (),
    "--prices": (__file__,),
    "--repo": (".",),
    "--attach": ("svg",),
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[Held, Path]:
    """A recording of each kind."""
    top = tmp_path_factory.mktemp("every")
    parts = joint(top / "parts.profdiff")
    suite = Suite.create(top / "suite.profdiff", "s", ["profdiff"], [SuiteWorkload(name="a")])
    part(suite.part("a"), example()["x86_64"], POINTS)
    return {"session": parts.part("x86_64"), "parts": parts.folder, "suite": suite.folder}


def refusal(what: str, able: Sequence[Held], held: Held, folder: Path) -> str:
    """How the line begins that refuses it, and how it ends."""
    works = " or ".join(TITLES[one] for one in EVERY if one in able)
    own = {
        "session": f"{folder} is a session",
        "parts": f"{folder} holds a session for each of several architectures",
        "suite": f"{folder} is a suite: name one of its cells with --cell (profdiff report "
        f"{folder} lists them)",
    }
    return f"{what} works only on {works}: {own[held]}"


@pytest.mark.parametrize(("command", "form", "held"), CASES)
def test_a_form_is_made_or_refused(
    command: str, form: Form, held: Held, places: dict[Held, Path], tmp_path: Path
) -> None:
    forms, more, there = COMMANDS[command]
    target = tmp_path / "made"
    words = [command, places[held], *more, f"--{form.name}", target]
    able = [one for one in EVERY if any(one in each.render for each in forms)]
    if held in form.render:
        if there:
            profdiff(*words)
            files = [target, *tmp_path.glob("made*"), *target.glob("*")]
            assert any(file.is_file() and file.stat().st_size for file in files)
        return
    said = error_line(profdiff(*words, status=2))
    # What the whole command cannot do is said before what its form cannot.
    what = f"--{form.name}" if held in able else f"profdiff {command}"
    of = list(form.render) if held in able else able
    assert said.startswith(refusal(what, of, held, places[held]))
    assert (form.instead or "name one of ") in said
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("held", EVERY)
@pytest.mark.parametrize(
    "command", [report, annotate, check, mail, blame], ids=lambda one: one.__name__
)
def test_an_option_is_taken_or_refused(
    command: object, held: Held, places: dict[Held, Path]
) -> None:
    """Each option that says on what it works, given to what it does not work on."""
    shown = next(one for one in vars(command).values() if isinstance(one, click.Command))
    more = COMMANDS.get(shown.name or "", ((), (), False))[1]
    options = [one for one in shown.params if isinstance(one, _Option)]
    of_forms = {f"--{form.name}" for form in COMMANDS.get(shown.name or "", ((),))[0]}
    refused = 0
    for option in options:
        if held in option.held or option.opts[0] in of_forms:
            continue
        name = option.secondary_opts[0] if False in option.values else option.opts[0]
        words = [shown.name, places[held], *more, name, *VALUES[name]]
        said = error_line(profdiff(*map(str, words), status=2))
        typed = " ".join([name, *VALUES[name]]) if option.values else name
        whole = shown.name in ("mail", "annotate") and held == "suite"
        whole = whole or (shown.name == "blame" and held != "session")
        what = f"profdiff {shown.name}" if whole else typed
        assert said.startswith(f"{what} works only on ")
        assert "\n" not in said
        refused += 1
    expected = {("report", "suite"), ("report", "parts"), ("report", "session"), ("mail", "parts")}
    assert refused or (shown.name, held) not in expected


def test_a_cell_is_what_it_is_a_cell_of(places: dict[Held, Path]) -> None:
    suite = places["suite"]
    whole = profdiff("report", suite / "a", "--at", "folio_kib=4", "--svg", "-").stdout
    assert profdiff("report", suite, "--cell", "a/4", "--svg", "-").stdout == whole
    said = error_line(profdiff("report", suite, "--cell", "a/4", "--only", "a", status=2))
    assert said == f"--only works only on a suite: {suite / 'a'} is a session: leave --only out"
    for held in ("session", "parts"):
        said = error_line(profdiff("report", places[held], "--cell", "a", status=2))
        assert said.startswith("--cell works only on a suite: ")
        assert said.endswith(": --at names a point of a sweep")
