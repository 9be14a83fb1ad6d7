"""``profdiff bisect`` by the command line: on small trees, whose kernels boot in guests."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import made_repository
import pytest
import small_linux
import whole_run
from made_repository import Made, MadeRepository
from small_bisection import NEW, NEWEST, OLD, Bisect, history
from support import error_line, need_kernel, profdiff

from profdiff.base.errors import InputError
from profdiff.bisection.verdict import Judge
from profdiff.evidence.conditions.condition import Condition
from profdiff.session.session import Session

pytestmark = pytest.mark.guest


@pytest.fixture(scope="session")
def bisected(old_kernel: Path, new_kernel: Path, qemu: object) -> Bisect:
    """Found: c5 of eight, of which c2 does not build. Do not change what it left."""
    kinds = [OLD, OLD, "broken", OLD, OLD, NEW, NEW, NEW]

    def make(folder: Path) -> None:
        done = history(folder, kinds).run()
        (folder / "stdout").write_text(done.stdout)
        (folder / "stderr").write_text(done.stderr)

    folder = whole_run.once("bisected", make)
    found = re.findall(
        r"^(\w+) (\w+)$",
        subprocess.run(
            [
                "git",
                "-C",
                str(folder / "linux"),
                "for-each-ref",
                "--format=%(refname:lstrip=2) %(objectname)",
                "refs/heads/c*",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout,
        re.MULTILINE,
    )
    return Bisect(folder, MadeRepository(folder / "linux", dict(sorted(found))))


def test_the_culprit_is_found_and_confirmed(bisected: Bisect) -> None:
    """c5 brings the other kernel. What differs between good and bad is known from their own
    recording: the step is all of it, and the revert takes all of it away."""
    session = Session.open(bisected.folder / "b/evidence.profdiff")
    found = session.manifest.bisection
    assert found
    commits = bisected.repository.commits
    assert (found.culprit.commit, found.culprit.subject) == (commits["c5"], "mm: change 5")
    assert found.parent.commit == commits["c4"]
    assert (found.good.commit, found.bad.commit) == (commits["c0"], commits["c7"])
    assert (found.revert, found.undone, found.explained) == ("confirmed", 1.0, 1.0)
    assert [one.label for one in session.manifest.kernels] == [
        "parent",
        "culprit",
        "bad",
        "bad-revert",
    ]
    plain = [run for run in session.manifest.runs if not run.state]
    counted = {run.kernel: sum(run.measured[0].values) for run in plain}
    assert counted["parent"] == counted["bad-revert"] == found.good.value
    assert counted["culprit"] == counted["bad"] == found.bad.value
    assert counted["parent"] < counted["culprit"]
    assert (bisected.folder / "stdout").read_text().startswith("The first bad commit is ")


def test_git_has_its_log(bisected: Bisect) -> None:
    said = bisected.repository.git("-C", str(bisected.folder / "b/git"), "bisect", "log")
    assert f"first bad commit: [{bisected.repository.commits['c5']}]" in said
    assert (bisected.folder / "b/log").read_text().splitlines() == said.splitlines()


def test_report_and_mail_show_it(bisected: Bisect) -> None:
    session, commits = bisected.folder / "b/evidence.profdiff", bisected.repository.commits
    cited = f'{commits["c5"][:12]} ("mm: change 5")'
    text = profdiff("report", session, "--width", "200").stdout
    assert text.startswith(f"The first bad commit is {cited}, instructions:total, ")
    assert "Confirmed: reverting it on bad undoes the whole change." in text
    data = json.loads(profdiff("report", session, "--json", "-").stdout)
    assert data["bisection"]["culprit"]["commit"] == commits["c5"]
    assert data["bisection"]["revert"] == "confirmed"
    assert data["answers"][0] == data["bisection"]["sentences"][0]
    # bad is the culprit's kernel, and bad-revert the parent's.
    (counted,) = data["metrics"]
    assert [step["same_code"] for step in counted["steps"]] == [False, True, False]
    said = text.index("executes the same code")
    assert text.rindex("all, from culprit", 0, said) > text.index("all, from parent")
    assert said < text.index("all, from bad")
    sender = ["--from", "A <a@example.org>"]
    mail = profdiff("mail", session, *sender, "--regzbot-introduced")
    assert f"\nFixes: {cited}\n" in mail.stdout
    assert f"\n#regzbot introduced: {commits['c5'][:12]}\n" in mail.stdout
    assert f"[x] Bisection and revert: {cited}; the revert on top: confirmed" in mail.stderr
    assert f"The first bad commit is {cited}" in mail.stdout.replace("\n  ", " ")


def test_the_same_command_again_boots_nothing(bisected: Bisect, tmp_path: Path) -> None:
    copy = Bisect(bisected.folder, bisected.repository)
    before = {
        name: Session.open(bisected.folder / f"b/{name}.profdiff").manifest.runs
        for name in ("steps", "evidence")
    }
    assert copy.run().stdout == (bisected.folder / "stdout").read_text()
    for name, runs in before.items():
        assert Session.open(bisected.folder / f"b/{name}.profdiff").manifest.runs == runs


def test_how_to_remove_the_worktree_holds_in_any_folder(bisected: Bisect) -> None:
    command, repository = bisected.command(), bisected.repository.folder
    command[command.index("--repo") + 1] = "."
    done = subprocess.run(
        command,
        env=bisected.environment,
        cwd=repository,
        timeout=900,
        capture_output=True,
        text=True,
        check=True,
    )
    worktree = bisected.folder / "b/git"
    removal = f"git -C {repository} worktree remove --force {worktree}"
    assert done.stderr.splitlines()[-1].endswith(f": {removal}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("instructions > +500%", "does not tell good from bad: for bad it does not hold (good "),
        ("instructions:no_such_function > +5%", "no_such_function"),
        ("cycles > +5%", "cycles"),
    ],
)
def test_a_condition_that_tells_nothing(bisected: Bisect, text: str, said: str) -> None:
    session = Session.open(bisected.folder / "b/steps.profdiff")
    good, bad = (bisected.repository.commits[name][:12] for name in ("c0", "c7"))
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        Judge.of(session, good, bad, Condition.parse(text))


def test_good_that_is_bad(bisected: Bisect) -> None:
    session = Session.open(bisected.folder / "b/steps.profdiff")
    good, bad = (bisected.repository.commits[name][:12] for name in ("c0", "c7"))
    evidence = Session.open(bisected.folder / "b/evidence.profdiff")
    manifest = session.manifest
    swapped = Session(
        session.folder,
        type(manifest)(
            **{
                **{name: getattr(manifest, name) for name in manifest.__struct_fields__},
                "kernels": [session.kernel(bad), session.kernel(good)],
                "runs": [run for run in manifest.runs if run.kernel in (good, bad)],
            }
        ),
    )
    with pytest.raises(InputError, match="made it faster, add --when 'instructions < -") as raised:
        Judge.of(swapped, bad, good, None)
    condition = Condition.parse(str(raised.value).split("'")[1])
    assert Judge.of(swapped, bad, good, condition).verdict(good).mark == "bad"
    with pytest.raises(InputError, match="the same number of instructions"):
        Judge.of(evidence, "parent", "bad-revert", None)


# test_bad_input.py kills one as it begins, test_search.py interrupts one anywhere.
@pytest.mark.nightly
def test_killed_during_a_build_and_a_run(
    old_kernel: Path, new_kernel: Path, qemu: object, tmp_path: Path
) -> None:
    """SIGKILL leaves nothing that the same command trips over. The culprits are in a config file:
    c3 and c5 turn options on with which the tree is another kernel."""
    lines = [OLD, f"CONFIG_SLOW=y {NEW}", f"CONFIG_TUNED=y {need_kernel(NEWEST).name}"]
    slow = dict.fromkeys(("c3", "c4"), "CONFIG_SLOW=y\n")
    bisect = history(tmp_path, [lines] * 6, **slow, c5="CONFIG_SLOW=y\nCONFIG_TUNED=y\n")
    for sign in (": building ", ": restoring"):
        with whole_run.processors(whole_run.GUESTS):
            killed_when(bisect, sign)
    done = bisect.run("--all")
    found = Session.open(tmp_path / "b/evidence.profdiff").manifest.bisection
    assert found
    assert found.culprit.commit == bisect.repository.commits["c3"]
    assert found.revert == "does not apply", "c5 changed the line behind it"
    assert [one.culprit.commit for one in found.others] == [bisect.repository.commits["c5"]]
    assert found.explained is not None
    assert found.others[0].explained == pytest.approx(1 - found.explained)
    assert "mm: change 3" in done.stdout


def test_of_two_candidates_the_one_that_can_be_reverted_is(
    old_kernel: Path, new_kernel: Path, qemu: object, tmp_path: Path
) -> None:
    """c1 turns an option on and takes away what c2 needs to build again: without c2, bad does not
    build; without c1 it does, and costs what good does."""
    before = small_linux.tree(OLD, f"CONFIG_SLOW=y {NEW}")
    slow = before | {
        "tiny.config": before["tiny.config"] + "CONFIG_SLOW=y\n",
        "include/small.h": "\n",
    }
    mended = slow | {"mm/mprotect.c": f"#define PAGES 1\n{before['mm/mprotect.c']}"}
    commits = {
        "c0": Made(before),
        "c1": Made(slow, ["c0"], "mm: make it slow"),
        "c2": Made(mended, ["c1"], "mm: mend the build"),
    }
    bisect = Bisect(tmp_path, made_repository.make(tmp_path / "linux", commits))
    done = bisect.run()
    found = Session.open(tmp_path / "b/evidence.profdiff").manifest.bisection
    assert found
    hashes = bisect.repository.commits
    assert {one.commit for one in found.candidates} == {hashes["c1"], hashes["c2"]}
    assert found.reverted
    assert (found.reverted.commit, found.revert) == (hashes["c1"], "confirmed")
    assert f'reverting {hashes["c1"][:12]} ("mm: make it slow") on bad' in done.stdout
    assert f"with {hashes['c2'][:12]} reverted, bad does not build" in done.stderr
    assert re.search(r"good has [\d,]+, bad [\d,]+: instructions:total for 4,000 ops", done.stderr)
    mail = profdiff("mail", tmp_path / "b/evidence.profdiff").stdout
    said = " ".join(mail.split())
    assert f"with {hashes['c1'][:12]} reverted (bad-revert), the change is" in said
    assert f'Fixes: {hashes["c1"][:12]} ("mm: make it slow")' in mail


def killed_when(bisect: Bisect, sign: str) -> None:
    """Run until standard error says ``sign``, and kill it then, as nothing can be caught."""
    process = subprocess.Popen(
        bisect.command(),
        env=bisect.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr
    said = ""
    for line in process.stderr:
        said += line
        if sign in line:
            os.kill(process.pid, signal.SIGKILL)
            break
    assert process.wait() == -signal.SIGKILL, said
    process.stderr.close()


@pytest.mark.nightly
@pytest.mark.parametrize("small_disk", ["1m"], indirect=True)
def test_a_full_disk_is_one_line_and_resumes(
    old_kernel: Path, new_kernel: Path, qemu: object, tmp_path: Path, small_disk: Path
) -> None:
    """The bisection's folder is on a disk that is full when the first runs end."""
    bisect = history(tmp_path, [OLD, NEW])
    (tmp_path / "b").symlink_to(small_disk)
    failed = bisect.run(status=2)
    assert "room" in error_line(failed) or "space" in error_line(failed)
    subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
    bisect.run()
    found = Session.open(small_disk / "evidence.profdiff").manifest.bisection
    assert found
    assert found.culprit.commit == bisect.repository.commits["c1"]
    shutil.rmtree(small_disk / "git")
