"""``profdiff check`` on how often a type, a field or a variable is loaded and stored."""

from pathlib import Path

import pytest
from made_accesses import STORE, Layout, Site, session
from support import error_line, profdiff

LAYOUTS: dict[str, Layout] = {
    "vma": (128, {"flags": (32, 8), "file": (96, 8), "seq": (64, 4)}),
    "lock": (8, {"owner": (0, 8)}),
}
OPS = 10


def kernels() -> dict[str, list[Site]]:
    """vma: 650 to 700 loads; a variable, and one of a type; what is hidden is stored."""

    def site(path: str, count: int, **more: object) -> Site:
        return Site(path, count, "walk", type="vma")._replace(**more)  # type: ignore[arg-type]

    stores = {"does": frozenset({STORE})}
    pages = Site("", 40, "walk", kind="global", type="long", symbol="pages")
    init = Site("file", 10, "boot", kind="global", type="vma", symbol="init_vma")
    hidden = site("x", 50, function="lock_it", **stores).hidden()
    step = Site("step", 3, "walk", type="walk")
    owner = Site("owner", 20, "lock_it", type="lock")._replace(**stores)  # type: ignore[arg-type]
    return {
        "base": [site("flags", 560), site("file", 90), pages, init, step, owner, hidden],
        "new": [
            site("flags", 500),
            site("file", 200),
            pages._replace(count=50),
            init,
            step._replace(count=9),
            owner._replace(count=25),
            hidden._replace(count=45),
        ],
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checks") / "made.profdiff"
    session(folder, kernels(), LAYOUTS, ops=OPS)
    return folder


@pytest.mark.parametrize(
    ("condition", "status", "words"),
    [
        # 560 + 90, and 10 of the variable of that type; then 500 + 200 + 10.
        ("loads:vma > +7%", 1, "+7.58%, 66.00 to 71.00 per op"),
        ("loads:vma > +8%", 0, "+7.58%, 66.00 to 71.00 per op"),
        ("loads:vma > +49", 1, "660 to 710"),
        ("loads:vma > +5/op", 0, "66 to 71 per op"),
        ("loads:vma > +4.9/op", 1, "66 to 71 per op"),
        ("loads:vma.flags > +0", 0, "560 to 500"),
        ("loads:pages > +0", 1, "40 to 50"),
        ("loads:pages > +10", 0, "40 to 50"),
        ("loads:init_vma > +0", 0, "10 to 10"),
        ("loads:init_vma.file > +0", 0, "10 to 10"),
        ("stores:pages > +0", 0, "none, 0 to 0"),
        # 50 stores to nobody knows what, and 45: from 5 - 50 to 5 + 45.
        ("stores:lock > +0", 125, "not certain: unresolved"),
        ("stores:lock.owner > +0", 125, "not certain: unresolved"),
        ("stores:lock > +60", 0, "20 to 25"),
        ("loads:vma.sq > +0", 125, "no kernel accesses vma.sq"),
        # Both a function's name and a type's: the code of these instructions is not known.
        ("loads:walk > +0", 0, "none, 0 to 0"),
        ("loads:walk.step > +0", 1, "3 to 9"),
        # Rows of tables: 560 + 90 + 40 + 3 loads in a function, and then 500 + 200 + 50 + 9.
        ("types-data:vma.flags > +0", 0, "560 to 500"),
        ("types-data:lock.owner > +0", 125, "unsure: unresolved"),
        ("types-data-functions:walk > +65", 1, "693 to 759"),
        ("types-data-functions.count:walk > +66", 0, "693 to 759"),
        ("types-unresolved > -5", 0, "50 to 45"),
        ("types:lock.owner > +60", 125, "unsure: unresolved"),
        ("types-data:vma.flag > +0", 125, "has no row 'vma.flag'; did you mean vma.flags"),
        ("types-data.share:vma.flags > +0", 125, "name a count of types-data that kernels have"),
        (
            "types-dat:vma.flags > +0",
            125,
            "types has no table 'types-dat'; did you mean types-data",
        ),
    ],
)
def test_conditions(made: Path, condition: str, status: int, words: str) -> None:
    assert words in profdiff("check", made, "--fail-if", condition, status=status).stdout


def test_what_nothing_has_is_refused(made: Path) -> None:
    for condition in ("loads:vmaa > +0", "stores:page > +0"):
        said = error_line(profdiff("check", made, "--fail-if", condition, status=2))
        assert "no function" in said
    said = error_line(profdiff("check", made, "--fail-if", "loads:total:vma > +0", status=2))
    assert "write loads:vma" in said
