"""What kernels are given of their own, as reports, checks and mails say it: as what was meant."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import profdiff, unclaimed
from synthetic_session import exact_session

from profdiff.mail.measured import recorded
from profdiff.session import facts
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.session.variants import differences, variants

V = m.Variant
LINE = "console=ttyS0 nokaslr"


def session(folder: Path, own: Sequence[m.Variant], lines: Sequence[str] | None = None) -> Path:
    """A session of ``base`` and ``new``, of one build, with these command lines or the right
    ones."""
    made = exact_session(folder)
    labels = [kernel.label for kernel in made.manifest.kernels]
    told = lines or [f"{LINE} {one.append}".strip() for one in own]
    for run in made.manifest.runs:
        (folder / "runs" / run.id / "cmdline").write_text(f"{told[labels.index(run.kernel)]}\n")
    runs = [
        m.replace(run, files={**run.files, "cmdline": f"runs/{run.id}/cmdline"})
        for run in made.manifest.runs
    ]
    kernels = [
        m.replace(kernel, variant=one, release="6.12.95")
        for kernel, one in zip(made.manifest.kernels, own, strict=True)
    ]
    made.save(m.replace(made.manifest, runs=runs, kernels=kernels))
    return unclaimed(folder)


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        (V(append="a=on"), V(append="a=off"), ["a=off"]),
        (V(append="a=on"), V(), ["without a=on"]),
        (V(), V(append='a="b c" d', memory=2048), ['a="b c"', "d", "memory=2048M"]),
        (V(cpus=2), V(cpus=2, cpu="max"), ["cpu=max"]),
        (V(memory=512), V(), []),
        (V(append="a b"), V(append="b a"), ["another order: b a"]),
    ],
)
def test_what_they_differ_in(
    tmp_path: Path, ours: m.Variant, theirs: m.Variant, words: list[str]
) -> None:
    known = variants(Session.open(session(tmp_path / "s", [ours, theirs])).manifest)
    assert differences(known, "base", "new") == words


def test_it_is_intended_and_no_warning(tmp_path: Path) -> None:
    own = [V(append="k=on"), V(append="k=off", memory=2048)]
    folder = session(tmp_path / "s", own)
    shown = " ".join(profdiff("report", folder).stdout.split())
    assert " differs in: k=off, memory=2048M " in shown
    assert "differences: k=off, memory=2048M, as intended; no other known difference" in shown
    assert "same command line otherwise" in shown
    assert "given k=on, the base" in shown
    assert "512 MiB; new memory=2048M" in shown
    profdiff("report", folder, "--json", tmp_path / "d.json")
    document = json.loads((tmp_path / "d.json").read_text())
    assert document["facts"]["intended"] == {"new": ["k=off", "memory=2048M"]}
    assert document["facts"]["differences"] == []
    assert document["kernels"][1]["variant"] == {
        **{"append": "k=off", "memory_mib": 2048, "cpus": None, "cpu": None, "program": ""},
        "words": ["k=off", "memory=2048M"],
    }
    mail = profdiff("mail", folder).stdout
    assert "differs in: k=off, memory=2048M" in mail
    assert "given k=on, the base" in mail
    judged = profdiff("check", folder, "--fail-if", "instructions > +1%", status=(0, 1)).stdout
    assert "differs in: k=off, memory=2048M" in judged


@pytest.mark.parametrize(
    "lines",
    [
        [f"{LINE} k=on", f"{LINE} quiet k=off"],
        # The kernel did not get it.
        [f"{LINE} k=on", LINE],
        [f"{LINE} k=on", f"{LINE} k=of"],
    ],
)
def test_what_was_not_meant_is_still_told(tmp_path: Path, lines: list[str]) -> None:
    folder = session(tmp_path / "s", [V(append="k=on"), V(append="k=off")], lines)
    shown = " ".join(profdiff("report", folder).stdout.split())
    assert "command line otherwise differs" in shown
    assert "no other known difference" not in shown
    profdiff("report", folder, "--json", tmp_path / "d.json")
    (found,) = json.loads((tmp_path / "d.json").read_text())["facts"]["differences"]
    assert found["what"] == "command line"


def test_settings_that_follow_are_intended() -> None:
    both = {"a": V(append="mitigations=off"), "b": V()}
    known = facts.Facts(
        variants=both,
        machines={"a": {"mitigation mds": "x", "smt": "on"}, "b": {"smt": "off"}},
    )
    assert list(known.differences()) == ["machine: smt"]


def test_a_strangers_words_are_text(tmp_path: Path) -> None:
    """In a page, and in the command of a mail."""
    evil = "x=</script><script>alert(1)</script>$(id)\x1b[31m"
    folder = session(tmp_path / "s", [V(), V(append=evil)], [LINE, LINE])
    profdiff("report", folder, "--html", tmp_path / "p.html")
    assert "<script>alert(1)" not in (tmp_path / "p.html").read_text()
    assert "\x1b" not in profdiff("report", folder).stdout
    assert "\x1b" not in profdiff("mail", folder).stdout


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("off=debian:6,append=init=/bin/x", "off=debian:6,append=init=/bin/x"),
        ("off=/home/me/linux,append=a=1", "off=6.12.95,append=a=1"),
        ("--kernel=off=/home/me/linux,memory=2G", "--kernel=off=6.12.95,memory=2048M"),
        ("off=/home/me/linux,append='a=1,cpus=2'", "off=6.12.95,append='a=1,cpus=2'"),
        ("off=/home/me/linux,append='", "off=linux,append='"),
    ],
)
def test_the_printed_command_gives_it_again(tmp_path: Path, word: str, shown: str) -> None:
    made = Session.open(session(tmp_path / "s", [V(), V()])).manifest
    kernels = [m.replace(one, spec="/home/me/linux") for one in made.kernels]
    words = recorded(m.replace(made, command=["profdiff", word], kernels=kernels))
    assert words == ["profdiff", shown]


def test_a_plan_with_another_variant_is_another_one(tmp_path: Path) -> None:
    """Also without a guest."""
    from profdiff.recording.plan import difference

    made = Session.open(session(tmp_path / "s", [V(), V(append="k=off")])).manifest
    base, new = made.kernels
    other = m.replace(made, kernels=[base, m.replace(new, variant=V(append="k=on"))])
    assert difference(made, other) == "new with k=off"
    assert difference(other, m.replace(made, kernels=[base, m.replace(new, variant=V())])) == (
        "new with k=on"
    )
    assert difference(made, made) is None


def test_an_experiment_file_has_it(tmp_path: Path) -> None:
    """Beside the file, with what its guest is given."""
    from profdiff.commands.experiment.file import _kernel_from

    (tmp_path / "linux").mkdir()
    found = _kernel_from(tmp_path / "profdiff.toml", "off=linux,append=a=1,2,memory=1G")
    assert found.startswith("off=")
    assert found.endswith("linux,append=a=1,2,memory=1024M")
    assert Path(found.removeprefix("off=").partition(",")[0]).resolve() == tmp_path / "linux"
    assert _kernel_from(tmp_path / "profdiff.toml", "debian:sid,append=a") == "debian:sid,append=a"
