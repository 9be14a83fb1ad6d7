"""What a server shows: only what lies below its folder, bounded, and marked as data."""

import re
import unicodedata
from collections.abc import Coroutine
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_session import exact_session

from profdiff.base.errors import InputError
from profdiff.base.terminal import cleaned
from profdiff.mcp import tools
from profdiff.mcp.folder import Folder

MOST = 200


def tools_of(top: Path) -> Any:
    """The tools of a folder, which ask for packages that need not be installed."""
    return pytest.importorskip("profdiff.mcp.tools", exc_type=ImportError).Tools(Folder(top))


def said(work: Coroutine[Any, Any, str]) -> str:
    """What a tool answers; nothing here makes it wait."""
    with pytest.raises(StopIteration) as ended:
        work.send(None)
    return str(ended.value.value)


@settings(max_examples=examples(400))
@given(st.text(max_size=300) | st.lists(st.text(max_size=120)).map("\n".join))
def test_an_answer_is_bounded_and_marked(text: str) -> None:
    with patch.object(tools, "MOST", MOST):
        head, first, *data = tools.answer(text, "ask for less").split("\n")
    told = data.pop()
    last = told if told == first else data.pop()
    assert first == last and first in head and first not in data
    whole = cleaned(text).rstrip("\n")
    shown = "\n".join(data)
    assert len(shown.encode()) <= MOST and whole.startswith(shown)
    assert not {"Cc", "Cf"} & {unicodedata.category(c) for c in shown if c not in "\n\t"}
    if left := len(whole.encode()) - len(shown.encode()):
        assert re.fullmatch(rf"{left} bytes? more are left out: ask for less\.", told)
        assert whole[len(shown)] == "\n" or "\n" not in shown
    else:
        assert told == first
    assert first not in tools.answer(text, "")


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A folder with recordings in it, beside it and behind links."""
    top = tmp_path / "top"
    for place in ("top/s.profdiff", "top/a/b/deep.profdiff", "other.profdiff"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        exact_session(tmp_path / place)
    (top / "linked.profdiff").symlink_to(tmp_path / "other.profdiff")
    (top / "to-a").symlink_to(top / "a")
    too_deep = top / "1/2/3/4/5/6"
    too_deep.mkdir(parents=True)
    exact_session(too_deep / "t.profdiff")
    (top / "damaged").mkdir()
    (top / "damaged/manifest.json").write_text("{")
    return top


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "../other.profdiff",
        "/etc",
        "linked.profdiff",
        "a/../../other.profdiff",
        "\0",
        "x" * 9999,
    ],
)
def test_a_path_that_leaves_the_folder_is_refused(served: Path, name: str) -> None:
    tools = tools_of(served)
    for ask in (
        lambda: tools.sessions(name),
        lambda: tools.report(name),
        lambda: tools.annotate(name, "f"),
        lambda: tools.blame(name),
        lambda: tools.topic(name, "events"),
        lambda: tools.check(name, ["instructions > +1%"]),
        lambda: tools.blame("s.profdiff", repo=name),
    ):
        with pytest.raises(InputError, match=r"refused$|not the name of a file"):
            ask().send(None)


def test_recordings_are_listed(served: Path) -> None:
    def listed(within: str = "") -> list[str]:
        return [
            line.split(":")[0] for line in said(tools_of(served).sessions(within)).split("\n")[2:-1]
        ]

    assert listed() == ["a/b/deep.profdiff", "damaged", "s.profdiff"]
    assert listed("a/b") == ["a/b/deep.profdiff"]
    assert listed("to-a") == ["a/b/deep.profdiff"]
    assert listed("1/2/3") == ["1/2/3/4/5/6/t.profdiff"]
    assert listed("s.profdiff/runs") == ["Nothing is recorded here"]
    assert "damaged: damaged: " in said(tools_of(served).sessions())


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ({"session": "x"}, "NAME.profdiff"),
        ({"session": "../x.profdiff"}, "leads out"),
        ({"session": "s.profdiff"}, "is there already"),
        (
            {"kernels": ["a=running", "b=/x"]},
            "a: name a kernel that is built, and boots in a guest",
        ),
        ({"kernels": ["/x", "ssh://host"]}, "host: name a kernel that is built, and"),
        ({"kernels": ["a=/x", "b=git:.@HEAD"]}, "b: name a kernel that is built, and"),
    ],
)
def test_what_is_not_recorded(served: Path, named: dict[str, object], why: str) -> None:
    asked = {"session": "n.profdiff", "kernels": ["a=/x", "b=/y"], "command": ["true"], **named}
    with pytest.raises(InputError, match=why):
        tools_of(served).record(**asked).send(None)
    assert not (served / "n.profdiff").exists()
