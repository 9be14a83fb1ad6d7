"""Mails about a recording over several architectures."""

import email
import email.policy
from pathlib import Path

import pytest
from msgspec.structs import replace
from support import error_line, profdiff
from synthetic_joint import example, joint

from profdiff.base import units
from profdiff.evidence.parts import PartsFindings
from profdiff.mail import parts as mail
from profdiff.mail.content import MailOptions
from profdiff.mail.letter import LINES
from profdiff.session import manifest as m
from profdiff.session.parts import Parts
from profdiff.session.session import Session
from profdiff.session.state import State
from profdiff.views.results.result import ABSENT

WISHES = MailOptions(command=["profdiff", "mail"])
SENDER = ("--from", "Riley Reporter <riley@example.org>")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two kernels at two points on two architectures."""
    return Path(joint(tmp_path_factory.mktemp("joint") / "S").folder)


@pytest.fixture(scope="module")
def findings(folder: Path) -> PartsFindings:
    """Of that recording."""
    return PartsFindings.of(Parts.open(folder))


def test_it_begins_with_the_claim_and_the_trade_off(findings: PartsFindings) -> None:
    said = mail.letter(findings, WISHES)
    assert said.subject == (
        "mm/x: work: instructions per op +97.0% on x86_64, +33.0% on arm64 (seen in one state)"
    )
    paragraphs = [" ".join(one.split()) for one in said.render().split("\n\n")]
    assert paragraphs[0] == (
        "The same change: +97.0% on x86_64, +33.0% on arm64 (instructions per op of work, new "
        "against base at folio_kib 4)."
    )
    assert paragraphs[1] == "The change on x86_64 and arm64 was seen in one state."
    assert paragraphs[2] == (
        "Over all points: more at folio_kib 4 (+97.0% on x86_64, +33.0% on arm64); less at "
        "folio_kib 64 (-16.7% on x86_64, -58.9% on arm64)."
    )


def test_the_joint_table_fits(findings: PartsFindings) -> None:
    text = mail.letter(findings, WISHES).render()
    lines = text.splitlines()
    assert max(map(units.width, lines)) <= 75
    (small,) = [line for line in lines if line.startswith("4 ")]
    assert " ".join(small.split()) == "4 198 -> 390 +97.0% exact 203 -> 270 +33.0% exact"
    (flush,) = [line for line in lines if line.endswith("  flush")]
    assert flush.split()[3:6] == [ABSENT] * 3
    assert f"{ABSENT}: the architecture does not execute it." in lines
    # What did not change is not in a mail.
    assert not any(line.endswith("main (work)") for line in lines)


def test_what_architectures_have_alike_is_said_once(findings: PartsFindings) -> None:
    text = mail.letter(findings, WISHES).render()
    assert text.count("Workload:") == 1
    assert text.count("compiler: gcc 12.2.0") == 1
    assert text.count("base: Linux 6.0.0") == 1
    # What a guest was is said of each.
    assert text.count("exact: QEMU TCG (") == 2
    assert text.count("x86_64: instructions, exact: ") == text.count("arm64: instructions, ex") == 1
    # What the numbers rest on stands above them.
    flat = " ".join(text.split())
    assert flat.index("Every instruction of the workload") < flat.index("How it was measured")
    assert flat.count("none is sampled, in one boot of each kernel under QEMU's emulator") == 1


def test_what_differs_names_its_architecture(tmp_path: Path) -> None:
    made = joint(tmp_path / "S")
    session = Session.open(made.part("arm64"))
    kernels = [m.replace(one, release=f"{one.release}-arm64") for one in session.manifest.kernels]
    session.save(m.replace(session.manifest, kernels=kernels))
    text = mail.letter(PartsFindings.of(made), WISHES).render()
    assert "arm64: base: Linux 6.0.0-arm64" in text
    assert "x86_64: base: Linux 6.0.0," in text


def test_many_functions_are_bounded(tmp_path: Path) -> None:
    parts = {
        name: {
            label: [
                *rows,
                *(
                    ([(f"function_{n}", "vmlinux", "mm/x.c", False)], "x", True, (count, count))
                    for n in range(80)
                    for count in [n + (label == "new")]
                ),
            ]
            for label, rows in kernels.items()
        }
        for name, kernels in example().items()
    }
    findings = PartsFindings.of(joint(tmp_path / "S", parts))
    said = mail.letter(findings, MailOptions(command=[], top=70))
    assert said.excess <= LINES
    body = said.render().partition("How to reproduce")[0]
    assert len(body.splitlines()) <= LINES + 2
    assert "functions not shown" in body


def test_no_kernels_path_is_in_it(tmp_path: Path) -> None:
    made = joint(tmp_path / "S")
    words = ["profdiff", "record"]
    for name in made.names:
        session = Session.open(made.part(name))
        kernels = [
            m.replace(one, spec=f"/home/riley/{name}/{one.label}", release=f"6.1-{name}")
            for one in session.manifest.kernels
        ]
        session.save(m.replace(session.manifest, kernels=kernels))
        words += [word for one in kernels for word in ("--kernel", f"{one.label}={one.spec}")]
    opened = Parts(made.folder, made.names, words)
    text = mail.letter(PartsFindings.of(opened), WISHES).render()
    assert "riley" not in text
    assert "--kernel base=6.1-x86_64" in text
    assert "--kernel base=6.1-arm64" in text


def test_sections_can_be_left_out(findings: PartsFindings) -> None:
    without = MailOptions(command=[], without=["functions", "measured"])
    text = mail.letter(findings, without).render()
    assert "change_pte_range" not in text
    assert "How it was measured" not in text
    assert "198 -> 390" in text


def test_the_checklist_is_that_of_all(findings: PartsFindings) -> None:
    lines = mail.boxes(findings, WISHES)
    assert any(line.startswith("[x] Work per op") for line in lines)
    assert len(lines) == len(mail.content.boxes(findings.parts["arm64"], WISHES))


def test_the_command_writes_a_draft(folder: Path, tmp_path: Path) -> None:
    draft = tmp_path / "draft.eml"
    profdiff("mail", folder, *SENDER, "-o", draft, "--checklist", "--real-use", "a database")
    message = email.message_from_bytes(draft.read_bytes(), policy=email.policy.default)
    assert "+97.0% on x86_64, +33.0% on arm64" in message["Subject"]
    body = message.get_content()
    assert "203 -> 270" in body
    assert "Used by: a database" in body
    assert "[x] Work per op" in body
    at_large = profdiff("mail", folder, *SENDER, "--at", "folio_kib=64").stdout
    assert "-16.7% on x86_64, -58.9% on arm64" in " ".join(at_large.split())


@pytest.mark.parametrize("options", [("--attach", "svg"), ("--repo", ".")])
def test_what_is_of_one_architecture_is_refused(folder: Path, options: tuple[str, ...]) -> None:
    said = error_line(profdiff("mail", folder, *SENDER, *options, status=2))
    assert said == (
        f"{options[0]} works only on a session: {folder} holds a session for each of several "
        f"architectures: name one of them: {folder / 'x86_64'} or {folder / 'arm64'}"
    )


def test_nothing_recorded_is_one_line(tmp_path: Path) -> None:
    made = Parts.create(tmp_path / "S", ("x86_64", "arm64"), ["profdiff", "record"])
    said = error_line(profdiff("mail", made.folder, *SENDER, status=2))
    assert "no architecture has been recorded yet: finish the recording" in said


@pytest.mark.parametrize(
    ("arm64", "said"),
    [
        (State(equal={"minor_faults": "7"}), ["the kernels' state is the same"]),
        (
            State({"swap": {"base": "0", "new": "5"}}, equal={"minor_faults": "7"}),
            [
                "x86_64: the kernels' state is the same",
                "arm64: the rest of what is known of the kernels' state is the same",
                "arm64: STATE DIFFERS",
            ],
        ),
        (
            State({"swap": {"base": "0", "new": "5"}}),
            ["x86_64: the kernels' state is the same", "arm64: STATE DIFFERS"],
        ),
    ],
)
def test_the_state_of_each_architecture_is_said(
    findings: PartsFindings, arm64: State, said: list[str]
) -> None:
    states = {"x86_64": State(equal={"minor_faults": "7"}), "arm64": arm64}
    parts = {name: replace(one, state=states[name]) for name, one in findings.parts.items()}
    text = " ".join(mail.letter(replace(findings, parts=parts), WISHES).render().split())
    for words in said:
        assert words in text
    # What differs stands before the tables.
    if arm64.differences:
        assert text.index("STATE DIFFERS") < text.index("198 -> 390")
        assert "arm64: the kernels' state is the same" not in text
