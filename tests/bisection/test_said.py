"""What is said of a bisection, and what one keeps."""

from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from mail.letters import found, timed, written
from msgspec.structs import replace
from synthetic import compare, example, findings

from profdiff.base.errors import InputError, SessionError
from profdiff.bisection import bisecting
from profdiff.bisection.bisecting import _clear
from profdiff.bisection.git_bisect import GitBisect
from profdiff.bisection.kept import Kept, Question
from profdiff.collectors.kernels.building import kept
from profdiff.collectors.kernels.git_spec import GitSpec
from profdiff.evidence.findings import Findings
from profdiff.mail.content import MailOptions, letter
from profdiff.session import manifest as m
from profdiff.session.bisection import Bisection, Revision, Step
from profdiff.session.kernel_config import OptionDifference
from profdiff.views.bisection import fixes, introduced, sentences
from profdiff.views.claims.checklist import Grounds, items


def revision(digit: str, subject: str = "mm: do it", value: float | None = None) -> Revision:
    return Revision(commit=digit * 40, subject=subject, value=value)


FOUND = Bisection(
    good=revision("a", value=1000),
    bad=revision("b", value=1500),
    parent=revision("c", value=1000),
    culprit=revision("d", value=1400),
    condition="instructions:total > +250",
    what="instructions:total",
    revert="confirmed",
    undone=1.0,
    explained=0.8,
    tested=4,
    skipped=2,
)


def changed(**fields: object) -> Bisection:
    return msgspec.structs.replace(FOUND, **fields)


def test_the_culprit_comes_first() -> None:
    first, part, second, third, last = sentences(FOUND)
    assert first == (
        'The first bad commit is dddddddddddd ("mm: do it"), instructions:total, 1,000 to 1,400 '
        "(+40.0%)."
    )
    assert part == (
        "From good to bad, the change is +500 (1,000 to 1,500): this step is 80% of it, other "
        "commits add 100."
    )
    assert second == "Confirmed: reverting it on bad undoes the whole change."
    assert third == "This step is not the whole change: bisect --all finds the others."
    assert last == (
        "Bisected between good aaaaaaaaaaaa and bad bbbbbbbbbbbb; bad means instructions:total > "
        "+250. 4 revisions measured, 2 skipped (not built, not run, or undecided)."
    )


HIDDEN = {
    "good": revision("a", value=1_571_000),
    "bad": revision("b", value=1_597_000),
    "parent": revision("c", value=1_571_010),
    "culprit": revision("d", value=1_623_010),
    "explained": 2.0,
    "ops": 1000,
}


def test_more_than_the_whole_change_is_what_others_take_away() -> None:
    """With all digits, and of how many ops the values are; the two lengths, if there are any."""
    first, part, *_ = sentences(changed(**HIDDEN, longer=2000))
    assert first == (
        'The first bad commit is dddddddddddd ("mm: do it"), instructions:total, 1,571,010 to '
        "1,623,010 for 1,000 ops (2,000 minus 1,000): +52.00 per op (+3.3%)."
    )
    assert part == (
        "From good to bad, the change is +26.00 per op (1,571,000 to 1,597,000): other commits "
        "take away 26.00 per op."
    )
    assert "for 1,000 ops: +52.00 per op" in sentences(changed(**HIDDEN))[0]
    assert not [one for one in sentences(changed(**HIDDEN)) if "200%" in one]
    assert any("bisect --all finds" in one for one in sentences(changed(**HIDDEN)))


def test_all_of_the_change_is_said() -> None:
    part = sentences(changed(culprit=revision("d", value=1500), explained=1.0))[1]
    assert part == "This step is the whole change from good to bad."
    unknown = changed(explained=None)
    assert not [one for one in sentences(unknown) if one.startswith("From good")]


def test_of_two_candidates_the_one_that_was_reverted_is_named() -> None:
    """git cannot tell them apart where the first does not build; a revert can."""
    two = [revision("e", "mm: break it"), revision("d")]
    made = changed(candidates=two, reverted=two[0])
    confirmed = 'Confirmed: reverting eeeeeeeeeeee ("mm: break it") on bad undoes the whole'
    assert any(one.startswith(confirmed) for one in sentences(made))
    assert fixes(made) == 'eeeeeeeeeeee ("mm: break it")'
    assert introduced(made) == "e" * 12
    refuted = changed(candidates=two, reverted=two[1], revert="not", undone=0.0)
    assert any("Not confirmed: reverting dddddddddddd" in one for one in sentences(refuted))
    assert fixes(refuted) is None
    assert introduced(changed(candidates=two)) == f"{'c' * 12}..{'d' * 12}"
    none = changed(candidates=two, revert="does not apply", undone=None)
    assert "Not confirmed: none of them reverts cleanly on bad." in sentences(none)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"revert": "partly", "undone": 0.5},
            "Partly confirmed: reverting it on bad undoes only 50% of the change.",
        ),
        ({"revert": "not", "undone": 0.0}, "Not confirmed: reverting it on bad undoes 0% of"),
        (
            {"revert": "partly", "undone": 4.0},
            "Partly confirmed: reverting it on bad undoes more than the change: 400% of the",
        ),
        ({"revert": "not", "undone": -0.001}, "reverting it on bad undoes 0% of the change."),
        (
            {"revert": "does not apply", "undone": None},
            "Not confirmed: the commit does not revert cleanly on bad.",
        ),
        (
            {"revert": "does not build", "undone": None},
            "Not confirmed: with the commit reverted, bad does not build.",
        ),
        (
            {"all_above": 0.01},
            "No other step above 1% was found between aaaaaaaaaaaa and bbbbbbbbbbbb; steps that "
            "cancel each other are not seen.",
        ),
        (
            {
                "others": [
                    Step(
                        culprit=revision("e"),
                        parent=revision("f"),
                        explained=0.2,
                        candidates=[revision("9"), revision("e")],
                    )
                ]
            },
            "A further step is one of 2, of which only the last can be measured: 999999999999 "
            '("mm: do it") and eeeeeeeeeeee ("mm: do it"), 20% of the change.',
        ),
        (
            {"candidates": [revision(one) for one in "123456d"]},
            'one of 7, of which only the last can be measured: 111111111111 ("mm: do it"), '
            '222222222222 ("mm: do it"), 333333333333 ("mm: do it"), 3 more and dddddddddddd (',
        ),
        (
            {"others": [Step(culprit=revision("e"), parent=revision("f"), explained=0.2)]},
            'A further step is eeeeeeeeeeee ("mm: do it"), 20% of the change.',
        ),
        ({"candidates": [revision("e"), revision("d")]}, "The first bad commit is one of 2, of"),
    ],
)
def test_what_else_there_is(fields: dict[str, object], said: str) -> None:
    assert any(said in one for one in sentences(changed(**fields)))


def test_fixes_needs_one_commit() -> None:
    assert fixes(FOUND) == 'dddddddddddd ("mm: do it")'
    assert fixes(changed(candidates=[revision("e"), revision("d")])) is None
    assert fixes(None) is None


BETTER = {
    "parent": revision("c", value=1400),
    "culprit": revision("d", value=1000),
    "condition": "instructions:total < -250",
}


@pytest.mark.parametrize(
    ("fields", "named", "refused"),
    [
        ({}, True, None),
        ({"revert": "does not apply"}, True, None),
        ({"revert": "not"}, False, "does not undo the regression"),
        (BETTER, False, "made it better"),
        ({"condition": "inlined:do_it changed", "culprit": revision("d")}, True, None),
        ({"condition": "instructions < -1%", "culprit": revision("d")}, False, "made it better"),
    ],
)
def test_what_is_no_regression_is_not_called_one(
    fields: dict[str, object], named: bool, refused: str | None
) -> None:
    made = changed(**fields)
    assert (fixes(made) is not None) is named
    if refused is None:
        assert introduced(made) == "d" * 12
    else:
        with pytest.raises(InputError, match=refused):
            introduced(made)


def test_what_made_it_better_is_not_bad() -> None:
    first = sentences(changed(**BETTER))[0]
    assert first.startswith(
        "The first commit where instructions:total < -250 holds is dddddddddddd"
    )


def bisected(made: Bisection) -> Findings:
    known = found()
    manifest = m.replace(known.manifest, bisection=made)
    return replace(known, manifest=manifest, results=replace(known.results, manifest=manifest))


@pytest.mark.parametrize(
    ("fields", "done"),
    [({}, True), ({"revert": "partly"}, True), ({"revert": "not"}, False)],
)
def test_the_checklist_is_ticked_by_a_revert(fields: dict[str, object], done: bool) -> None:
    judged = {one.text: one for one in items(Grounds(bisected(changed(**fields))))}
    assert judged["Bisection and revert"].done is done


def test_the_mail_says_it() -> None:
    text = letter(bisected(FOUND), MailOptions(command=["profdiff"])).render()
    assert 'The first bad commit is dddddddddddd ("mm: do it")' in text.replace("\n  ", " ")
    assert "first bad commit" not in written().render()
    without = letter(
        bisected(FOUND), MailOptions(command=["profdiff"], without=["bisection"])
    ).render()
    assert "first bad commit" not in without


def test_the_subject_says_since_when() -> None:
    rows = dict(zip(("parent", "culprit"), example().values(), strict=True))
    plain = findings([compare(rows)])
    manifest = m.replace(plain.manifest, bisection=FOUND)
    made = replace(plain, manifest=manifest)
    subject = letter(made, MailOptions(command=["profdiff"])).subject
    assert subject.endswith('more instructions since dddddddddddd ("mm: do it")')
    assert "since" not in letter(plain, MailOptions(command=["profdiff"])).subject


def test_bad_with_the_culprit_reverted_is_not_called_bad() -> None:
    """The mail's last kernel was made for the evidence."""
    ladder = {"parent": 100.0, "culprit": 150.0, "bad": 140.0, "bad-revert": 90.0}
    plain = timed({label: [[value] * 5] for label, value in ladder.items()})
    kernels = [
        m.replace(
            one,
            source=m.BuiltFrom(
                repository="/linux",
                commit="b" * 40,
                described="bad-tip",
                subject="mm: last",
                tree="b" * 40,
                built="b" * 40,
                reverted=["d" * 40] if one.label == "bad-revert" else [],
            ),
        )
        for one in plain.manifest.kernels
    ]
    manifest = m.replace(plain.manifest, bisection=FOUND, kernels=kernels)
    results = replace(plain.results, manifest=manifest, kernels=kernels)
    text = letter(
        replace(plain, manifest=manifest, results=results), MailOptions(command=["profdiff"])
    ).render()
    said = " ".join(text.split())
    assert "On bad-tip with dddddddddddd reverted (bad-revert), the change is -10.0%" in said
    assert "last kernel" not in said


QUESTION = Question(repository="/linux", good="a" * 40, bad="b" * 40)


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    kept = Kept.of(tmp_path / "b", QUESTION)
    kept.give_up("d" * 40, "does not build")
    content = Kept.of(tmp_path / "b", QUESTION).content
    assert content.untestable == {"d" * 40: "does not build"}


def test_what_is_kept_is_read_strictly(tmp_path: Path) -> None:
    Kept.of(tmp_path / "b", QUESTION)
    with pytest.raises(InputError, match="holds a bisection with no condition"):
        Kept.of(tmp_path / "b", msgspec.structs.replace(QUESTION, condition="instructions > +1%"))
    other = msgspec.structs.replace(QUESTION, condition="instructions > +1%")
    asked: list[Question] = []
    assert Kept.of(tmp_path / "b", other, asked.append).content.question == other
    assert asked == [QUESTION]
    file = tmp_path / "b/bisect.json"
    for damage in (b"", b"[]", b"\xff", b"[" * 100_000, b'{"schema": "profdiff.bisect/2"}'):
        file.write_bytes(damage)
        with pytest.raises(SessionError, match="damaged"):
            Kept.of(tmp_path / "b", QUESTION)


def test_what_was_measured_of_other_kernels_goes(tmp_path: Path) -> None:
    """Of another condition, good and bad are the same."""
    steps = tmp_path / "steps.profdiff"
    (steps / "runs/1").mkdir(parents=True)
    for name in ("manifest.json", ".lock", "runs/1/counts"):
        (steps / name).write_text("")
    _clear(tmp_path, msgspec.structs.replace(QUESTION, condition="instructions > +1%"), QUESTION)
    assert (steps / "runs/1/counts").exists()
    _clear(tmp_path, msgspec.structs.replace(QUESTION, compiler="gcc-13"), QUESTION)
    assert [one.name for one in steps.iterdir()] == [".lock"]


def test_an_estimate_goes_by_earlier_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from made_repository import Made, make

    from profdiff.base.git import Git

    commits = {f"c{i}": Made({"n": f"{i}\n"}, [f"c{i - 1}"] if i else []) for i in range(17)}
    made = make(tmp_path / "linux", commits)
    ends = made.commits["c0"], made.commits["c16"]
    git = GitBisect.make(Git.open(made.folder), tmp_path / "git", ends[1])
    plain, names = GitSpec(made.folder), ("v1", "v2")
    known: list[tuple[list[float], list[float]]] = [([], [])]
    monkeypatch.setattr(bisecting, "seconds_of_builds", lambda *_: known[-1])
    monkeypatch.setattr(
        bisecting.BuildJob, "of", lambda _: SimpleNamespace(source=made, objects="")
    )
    made = SimpleNamespace(folder=made.folder, commits=made.commits, repository="")
    said = bisecting.estimated(git, *ends, plain, names)
    assert said.startswith("16 revisions from v1 to v2: about 4 steps; no such kernel was")
    # Before any other, the first build says nothing of those that go on from it.
    known.append(([1320.0], []))
    said = bisecting.estimated(git, *ends, plain, names)
    assert said.endswith("the first build takes 22 min, those that go on from it less")
    known.append(([1320.0], [60.0, 120.0]))
    # 7 builds and 10 runs of 5 to 20 s: 470 to 1,040 s.
    said = bisecting.estimated(git, *ends, plain, names)
    assert said.endswith("about 4 steps; a build takes 60 s to 2 min, all 8 to 17 min")
    said = bisecting.estimated(git, *ends, plain, names, every=True)
    assert said.endswith("at least 4 steps; a build takes 60 s to 2 min, all at least 8 to 17 min")
    # What was begun is counted from where it is.
    git.begin(*ends)
    git.mark("bad", made.commits["c4"])
    said = bisecting.estimated(git, *ends, plain, names)
    assert said.startswith("4 left of 16 revisions from v1 to v2: about 2 steps; ")
    git.mark("good", made.commits["c3"])
    said = bisecting.estimated(git, *ends, plain, names)
    assert said.endswith("from v1 to v2: the first bad commit is found already")


def test_an_estimate_goes_by_builds_of_the_same_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    def built(repository: str, objects: str, seconds: float, *, new: bool = False) -> object:
        source = SimpleNamespace(repository=repository)
        about = SimpleNamespace(source=source, objects=objects, seconds=seconds, new=new)
        return SimpleNamespace(about=about)

    first, others = built("/linux", "gcc", 600, new=True), [built("/linux", "clang", 9)]
    for kernels, said in (
        ([*others, built("/other", "gcc", 8)], ([], [])),
        ([*others, first], ([600], [])),
        ([*others, first, built("/linux", "gcc", 60)], ([600], [60])),
        ([first, *(built("/linux", "gcc", n) for n in range(9))], ([600], [0, 1, 2, 3])),
    ):
        monkeypatch.setattr(kept, "kept_kernels", lambda kernels=kernels: iter(kernels))
        assert kept.seconds_of_builds("/linux", "gcc") == said


def options(count: int) -> list[OptionDifference]:
    """So many that a commit and its parent do not have alike."""
    return [
        OptionDifference(f"CONFIG_{n}", {"parent": "y", "culprit": None, "bad": "y"})
        for n in range(count)
    ]


def test_other_configs_than_a_commit_explains_are_said() -> None:
    rows = dict(zip(("parent", "culprit"), example().values(), strict=True))
    plain = findings([compare(rows)])
    manifest = m.replace(plain.manifest, bisection=FOUND)

    def cautions(count: int) -> list[str]:
        facts = replace(plain.facts, config=options(count))
        return replace(plain, manifest=manifest, facts=facts).cautions

    assert cautions(3) == []
    (told,) = cautions(176)
    assert told == (
        "CONFIGS DIFFER: parent and culprit in 176 options, more than one commit changes: the "
        "change may come from these and not from the commit"
    )
    facts = replace(plain.facts, config=options(176))
    made = replace(plain, manifest=manifest, facts=facts)
    text = letter(made, MailOptions(command=["profdiff"])).render()
    assert "CONFIGS DIFFER: parent and culprit in 176 options" in " ".join(text.split())
    assert replace(plain, facts=facts).cautions == []
