"""What the parts of one experiment differ by: architectures, or compilers."""

import re
from typing import Literal, NamedTuple

from profdiff.collectors.architecture import ARCHITECTURES

KindName = Literal["architecture", "compiler"]
# A program's name, which is a folder's, too: gcc-12, clang-19, x86_64-linux-gnu-gcc-4.9. A dot
# stands between digits only, so that no part has the name of a file of ours.
_COMPILER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_+-]{0,62}(\.[0-9]{1,8}){0,3}")
_ARCHITECTURES = [one.arch for one in ARCHITECTURES]


class PartKind(NamedTuple):
    """``word``: what stands before a part's name in a sentence: on x86_64, under gcc-12;
    ``option``: the one that makes parts of this kind."""

    name: KindName
    plural: str
    word: str
    option: str

    @property
    def file(self) -> str:
        """The file that says which parts a folder has, by their plural, as is its one list."""
        return f"{self.plural}.json"

    @property
    def one(self) -> str:
        """``an architecture``, ``a compiler``."""
        return f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name}"

    @property
    def schema(self) -> str:
        """The schema of that file."""
        return f"profdiff.{self.plural}/1"

    def at(self, part: str) -> str:
        """``on x86_64``, ``under gcc-12``."""
        return f"{self.word} {part}"

    def knows(self, part: str) -> bool:
        """Whether a part can have this name."""
        if self.name == "compiler":
            return is_compiler(part)
        return part in _ARCHITECTURES

    def order(self, part: str) -> tuple[int, str]:
        """Sorts parts where nothing else says their order."""
        known = self.name == "architecture" and part in _ARCHITECTURES
        return (_ARCHITECTURES.index(part) if known else len(_ARCHITECTURES), part)


ARCHITECTURE = PartKind("architecture", "architectures", "on", "--arch")
COMPILER = PartKind("compiler", "compilers", "under", "--compilers")
KINDS = (ARCHITECTURE, COMPILER)


def is_compiler(name: str) -> bool:
    """Whether ``name`` can be that of a compiler's program, without a folder."""
    return _COMPILER.fullmatch(name) is not None
