"""What holds of every history: here each line is written once, so that who added and who removed it
is known without git."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from made_repository import Made, MadeRepository, make, text

from profdiff.sources.repository import Repository, SourceLine

pytestmark = pytest.mark.slow

FILES = ("a.c", "b.c")
# A process for each question: few examples, each with many lines.
LAWS = settings(max_examples=examples(25), derandomize=True)


@dataclass(frozen=True)
class Told:
    """A history with what is known of it: each line is a word that no other line has."""

    commits: Mapping[str, Made]
    born: Mapping[str, str]
    killers: Mapping[str, Sequence[str]]


@st.composite
def histories(draw: st.DrawFn) -> Told:
    """Commits that insert and delete lines, and merges of two of them, perhaps with a change."""
    count = 0

    def fresh(number: int) -> list[str]:
        nonlocal count
        count += number
        return [f"    word_{i}({i * 7919});" for i in range(count - number + 1, count + 1)]

    # All lines in the order in which a file has them, dead ones too: merges never conflict.
    orders = {file: fresh(draw(st.integers(3, 12))) for file in FILES}
    alive = {"root": {file: set(lines) for file, lines in orders.items()}}
    parents: dict[str, list[str]] = {"root": []}
    born = {line: "root" for lines in orders.values() for line in lines}
    killers: dict[str, list[str]] = {}

    def change(name: str, has: dict[str, set[str]], most: int) -> None:
        for file in FILES:
            dead = (
                draw(st.sets(st.sampled_from(sorted(has[file])), max_size=most))
                if has[file]
                else set()
            )
            for line in dead:
                has[file].discard(line)
                killers.setdefault(line, []).append(name)
            at = draw(st.integers(0, len(orders[file])))
            new = fresh(draw(st.integers(0, most)))
            orders[file][at:at] = new
            has[file] |= set(new)
            born.update(dict.fromkeys(new, name))

    for i in range(draw(st.integers(2, 9))):
        name = f"c{i}"
        before = draw(
            st.lists(st.sampled_from(sorted(parents)), min_size=1, max_size=2, unique=True)
        )
        first = {file: set(lines) for file, lines in alive[before[0]].items()}
        if len(before) == 1:
            change(name, first, 3)
        else:
            for file in FILES:
                one, other = alive[before[0]][file], alive[before[1]][file]
                # As git merges: what one side removed goes, what one side added comes.
                common = _common(parents, born, before)
                gone = {line for line in one ^ other if born[line] in common}
                first[file] = (one | other) - gone
            change(name, first, draw(st.sampled_from([0, 0, 1])))
        parents[name] = before
        alive[name] = first

    def content(name: str, file: str) -> str:
        return text(*(line for line in orders[file] if line in alive[name][file]))

    commits = {
        name: Made({file: content(name, file) for file in FILES}, before)
        for name, before in parents.items()
    }
    return Told(commits, born, killers)


def _ancestors(parents: Mapping[str, Sequence[str]], name: str) -> set[str]:
    return {name}.union(*(_ancestors(parents, one) for one in parents[name]))


def _common(
    parents: Mapping[str, Sequence[str]], born: Mapping[str, str], both: Sequence[str]
) -> set[str]:
    return _ancestors(parents, both[0]) & _ancestors(parents, both[1])


@given(histories(), st.data())
@LAWS
def test_every_line_has_its_author(told: Told, data: st.DataObject) -> None:
    base = data.draw(st.sampled_from(sorted(told.commits)), "base")
    new = data.draw(st.sampled_from(sorted(told.commits)), "new")
    with tempfile.TemporaryDirectory() as folder:
        made = make(Path(folder) / "r", told.commits)
        _check(made, told, base, new)


def _check(made: MadeRepository, told: Told, base: str, new: str) -> None:
    repository = Repository.open(made.folder)
    same = repository.same_lines(base, new, FILES)
    old, now = (_lines(told.commits[name]) for name in (base, new))
    for line, word in now.items():
        there = same.in_base(*line)
        assert (there is None) == (word not in old.values())
        assert there is None or (old[there] == word and same.in_new(*there) == line)
    added = {line for line, word in now.items() if word not in old.values()}
    removed = {line for line, word in old.items() if word not in now.values()}
    found = repository.trace(base, new, added, removed, same)
    names = {value: key for key, value in made.commits.items()}
    assert not found.moved
    parents = {name: made.parents for name, made in told.commits.items()}
    for lines, commits, words, end in (
        (added, found.added, now, new),
        (removed, found.removed, old, base),
    ):
        other = base if end == new else new
        only = _ancestors(parents, end) - _ancestors(parents, other)
        for line in lines:
            word = words[line]
            # Born on this side of the fork, or else dead on the other one.
            guilty = (
                {told.born[word]}
                if told.born[word] in only
                else set(told.killers.get(word, ())) & _ancestors(parents, other)
            )
            assert names.get(commits.get(line, "")) in guilty, (word, guilty)


def _lines(made: Made) -> dict[SourceLine, str]:
    return {
        (file, i): line
        for file, content in made.files.items()
        for i, line in enumerate(content.splitlines(), 1)
    }
