"""What a bisection keeps beside git's log and its sessions: what was asked, and why a revision has
no measurement of its own."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from profdiff.base import bounded
from profdiff.base.atomic import remove_unfinished, write_atomic
from profdiff.base.errors import InputError, SessionError
from profdiff.collectors.records import Commit, Part, Text

_FILE = "bisect.json"
_MAX_FILE = 2**24


class Question(Part, frozen=True):
    """What is bisected. ``good`` and ``bad`` are hashes; ``condition`` "": the middle between
    them; ``patches``: what revisions are built with, where that applies."""

    repository: Text
    good: Commit
    bad: Commit
    config: Text = ""
    compiler: Text = ""
    architecture: Text = ""
    condition: Text = ""
    patches: Text = ""


class _Content(Part, frozen=True):
    schema: Literal["profdiff.bisect/1"]
    question: Question
    untestable: dict[Commit, Text] = msgspec.field(default_factory=dict)
    failed: dict[Commit, Text] = msgspec.field(default_factory=dict)


def _is_own(path: Path, own: Collection[str]) -> bool:
    """Whether a bisection that was killed at its very beginning can have left ``path``."""
    if path.name in own and path.is_dir():
        return all(one.name == ".lock" for one in path.iterdir())
    return path.name.startswith(f".{_FILE}.")


@dataclass
class Kept:
    """``untestable``: why a revision has no value and never will, as it does not build; ``failed``:
    why its guest gave none."""

    folder: Path
    content: _Content

    @staticmethod
    def refuse_occupied(folder: Path, own: Collection[str]) -> None:
        """Raise InputError where ``folder`` holds something else than a bisection. ``own``: names
        that one may have before it is written down, in a folder or as a lock."""
        if folder.is_file() or (
            folder.is_dir()
            and not (folder / _FILE).exists()
            and not all(_is_own(path, own) for path in folder.iterdir())
        ):
            raise InputError(f"-o {folder} exists and is not a bisection: name another folder")

    @staticmethod
    def of(
        folder: Path, question: Question, replace: Callable[[Question], None] | None = None
    ) -> "Kept":
        """What ``folder`` keeps, or nothing yet. Nobody else writes there now: what a killed writer
        left goes. ``replace``: is given the question that was asked before another one takes its
        place; None: that one stays. Raises InputError where the folder holds another bisection
        then, SessionError where it is damaged, OSError."""
        path = folder / _FILE
        folder.mkdir(parents=True, exist_ok=True)
        remove_unfinished(folder)
        new = Kept(folder, _Content(schema="profdiff.bisect/1", question=question))
        try:
            data = bounded.read_json(path, _MAX_FILE)
        except FileNotFoundError:
            new._save(new.content)
            return new
        try:
            content = msgspec.json.decode(data, type=_Content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SessionError(f"{path} is damaged: {error}") from error
        if replace and content.question != question:
            replace(content.question)
            new._save(new.content)
            return new
        for field in Question.__struct_fields__:
            was, now = getattr(content.question, field), getattr(question, field)
            if was != now:
                said = f"{field} {was}" if was else f"no {field}"
                raise InputError(
                    f"{folder} holds a bisection with {said}: name another folder with -o, or "
                    "delete that one"
                )
        return Kept(folder, content)

    def give_up(self, commit: str, reason: str) -> None:
        """``commit`` cannot be built."""
        known = {**self.content.untestable, commit: reason}
        self._save(msgspec.structs.replace(self.content, untestable=known))

    def fail(self, commit: str, reason: str) -> None:
        """``commit`` gave no result, and may another time."""
        known = {**self.content.failed, commit: reason}
        self._save(msgspec.structs.replace(self.content, failed=known))

    def forget_failed(self) -> None:
        """Try again what gave no result."""
        self._save(msgspec.structs.replace(self.content, failed={}))

    def _save(self, content: _Content) -> None:
        data = msgspec.json.format(msgspec.json.encode(content), indent=1)
        write_atomic(self.folder / _FILE, data + b"\n")
        self.content = content
