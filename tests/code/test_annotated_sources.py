"""Annotations of a session with sources, which are made of what its debug information names."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from annotation_sums import agree
from support import error_line, profdiff
from tars import unpack_session

from profdiff.base.errors import InputError
from profdiff.profile.comparison import Comparison
from profdiff.profile.recordings import Recordings
from profdiff.session.session import Session
from profdiff.sources.sources import Sources
from profdiff.views.annotation.making import Annotations

FUNCTION = "change_pte_range"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder = tmp_path_factory.mktemp("sources")
    unpack_session(folder / "s")
    return Session.open(folder / "s")


@pytest.fixture(scope="module")
def comparison(session: Session) -> Comparison:
    return Recordings(session).comparisons()[0]


def tree(comparison: Comparison, kernel: int, folder: Path) -> Path:
    """A source tree whose files are as long as they must be, and declare functions where they do;
    every other line is one of few texts, so that some are the same on other kernels."""
    last: dict[str, int] = {}
    for addresses in comparison.addresses[kernel : kernel + 1]:
        for one in addresses:
            chains = one.chains
            for number, line in zip(
                chains.frame_file.tolist(), chains.frame_line.tolist(), strict=True
            ):
                file = chains.strings[number]
                last[file] = max(last.get(file, 0), line)
    declared: dict[str, dict[int, str]] = {}
    for function, row in comparison.numbers[kernel].items():
        if row < len(comparison.lines) and (line := int(comparison.lines[row, kernel])):
            declared.setdefault(function.file, {})[line] = f"void {function.name}(void)"
            last[function.file] = max(last.get(function.file, 0), line)
    for file, length in last.items():
        if file and not file.startswith("/"):
            names = declared.get(file, {})
            texts = [names.get(n, f"{n % 61};") for n in range(1, length + 1)]
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text("\n".join(texts) + "\n")
    return folder


@pytest.fixture(scope="module")
def trees(
    comparison: Comparison, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Sources]:
    made = {}
    for kernel, label in enumerate(comparison.labels):
        folder = tree(comparison, kernel, tmp_path_factory.mktemp(label))
        made[label] = Sources.open(label, str(folder))
    return made


@pytest.mark.parametrize("known", [("base", "new"), ("base",), ("new",)])
def test_every_text_is_what_stands_at_its_line(
    session: Session, comparison: Comparison, trees: Mapping[str, Sources], known: tuple[str, ...]
) -> None:
    given = {label: trees[label] for label in known}
    made = Annotations(comparison, session, given)
    texts = pairs = 0
    for row in range(0, len(comparison.functions), 3):
        if not comparison.self_[row].any():
            continue
        found = made.annotation(row)
        agree(comparison, row, found)
        for line in found.lines:
            said = {
                label: lines[line.lines[label] - 1]
                for label in line.lines
                if label in given and (lines := given[label].lines(line.file)) is not None
            }
            assert line.text_of == list(said)
            assert line.text == next(iter(said.values()), None)
            assert len(set(said.values())) <= 1
            texts += bool(said)
            pairs += len(line.lines) == 2
        missing = [label for label in comparison.labels if label not in known]
        assert [note for note in found.notes if "sources" in note] == [
            f"{label}: its sources are not known; its lines are matched by their code"
            for label in missing
        ]
        # What a kernel's rows of a line sum to is what its lines say.
        for label in comparison.labels:
            by_line: dict[tuple[str, int], int] = {}
            for one in found.rows:
                if number := one.lines.get(label):
                    key = (one.files.get(label, one.file), number)
                    by_line[key] = by_line.get(key, 0) + one.count[label]
            assert by_line == {
                (line.file, line.lines[label]): line.count[label]
                for line in found.lines
                if label in line.lines
            }
    assert texts > 200 and pairs > 20


@pytest.mark.slow
def test_a_file_of_another_version_is_refused(
    session: Session, comparison: Comparison, tmp_path: Path
) -> None:
    folder = tree(comparison, 0, tmp_path)
    (file,) = {one.file for one in comparison.functions if one.name == FUNCTION}
    right = (folder / file).read_text()

    def shown(text: str) -> str:
        (folder / file).write_text(text)
        sources = {"base": Sources.open("base", str(folder))}
        return Annotations(comparison, session, sources).annotation(FUNCTION).function

    assert shown(right) == FUNCTION
    with pytest.raises(InputError, match=r"it has \d+ lines, and the debug information names line"):
        shown("\n".join(right.split("\n")[:60]))
    with pytest.raises(InputError, match=r"is not what base was built from: it has no \w+ in line"):
        shown(5 * "\n" + right)
    result = profdiff("annotate", session.folder, FUNCTION, "--source", f"base={folder}", status=2)
    assert file in error_line(result) and "name the sources that it was built from" in result.stderr
    # A file that the function has no line of does not matter.
    (folder / file).write_text(right)
    (folder / "fs").mkdir(exist_ok=True)
    (folder / "fs/exec.c").write_text("")
    profdiff("annotate", session.folder, FUNCTION, "--source", f"base={folder}")
