"""Inlined functions of some objects counted as those that they are inlined into."""

import numpy as np
import pytest
from synthetic import Row, chains, frame

from profdiff.profile.folding import folded
from profdiff.profile.kernel_profile import Profile
from profdiff.session.inlines import all_shown, shown, told
from profdiff.session.inlines import folded as folds
from profdiff.session.manifest import Kernel

ROWS: list[Row] = [
    ([frame("outer"), frame("inner", inlined=True)], "outer", True, [3]),
    ([frame("outer")], "outer.part.0", True, [5]),
    ([frame("inner")], "inner", True, [7]),
    ([frame("twice", file="mm/a.c")], "twice", True, [1]),
    ([frame("twice", file="mm/b.c"), frame("inner", inlined=True)], "twice", True, [1]),
    ([frame("probe", owner="mod"), frame("leaf", inlined=True, owner="mod")], "probe", True, [2]),
    ([frame("main", owner="p"), frame("work", inlined=True, owner="p")], "main", False, [4]),
    ("no-symbol", "", True, [9]),
]


def counts(*objects: str) -> dict[tuple[str, str, str], int]:
    found = folded(chains(ROWS), objects)
    found.check()
    profile = Profile.from_chains(found, np.array([row[3] for row in ROWS]).reshape(-1, 1, 1))
    own = profile.stacks.self_by_function(profile.counts[:, :, 0], len(profile.functions))
    rows = zip(profile.functions, own[:, 0].tolist(), strict=True)
    return {(one.name, one.object, one.file): count for one, count in rows}


def test_a_function_has_what_its_symbol_has() -> None:
    found = counts("vmlinux")
    assert found["outer", "vmlinux", "mm/x.c"] == 3 + 5
    assert found["inner", "vmlinux", "mm/x.c"] == 7
    assert found["twice", "vmlinux", ""] == 2, "kallsyms cannot tell namesakes apart"
    assert found["leaf", "mod", "mm/x.c"] == 2
    assert found["work", "p", "mm/x.c"] == 4
    assert sum(found.values()) == sum(row[3][0] for row in ROWS)


@pytest.mark.parametrize(
    ("owner", "inlined", "physical"), [("mod", "leaf", "probe"), ("p", "work", "main")]
)
def test_modules_and_files_of_user_space_fold_by_themselves(
    owner: str, inlined: str, physical: str
) -> None:
    found = counts(owner)
    assert (inlined, owner, "mm/x.c") not in found
    assert found[physical, owner, "mm/x.c"] > 0
    assert found["inner", "vmlinux", "mm/x.c"] == 3 + 7 + 1


def test_nothing_is_folded_that_is_not_asked_for() -> None:
    made = chains(ROWS)
    assert folded(made, ()) is made
    assert folded(made, {"absent"}) is made
    nameless = chains([("no-symbol", "", True, [9])])
    assert folded(nameless, {"vmlinux"}) is nameless


def kernel(label: str, **inlines: bool) -> Kernel:
    return Kernel(label=label, spec=label, inlines=inlines)


def test_an_object_folds_where_one_kernel_knows_and_another_does_not() -> None:
    kernels = [
        kernel("a", vmlinux=True, mod=True, libc=False, other=False),
        kernel("b", vmlinux=False, mod=True, libc=False),
        kernel("c", vmlinux=True, mod=False, new=True),
    ]
    assert folds(kernels) == {"vmlinux": ["b"], "mod": ["c"]}
    assert shown(kernels, "a") == {"vmlinux": False, "mod": False, "libc": False, "other": False}
    assert shown(kernels, "c") == {"vmlinux": False, "mod": False, "new": True}
    assert [line.split(",")[0] for line in told(kernels)] == [
        "c: no debug information tells what is inlined in mod",
        "b: no debug information tells what is inlined in vmlinux",
    ]
    assert folds(kernels[:1]) == folds([]) == {}
    assert not all_shown(kernels)
    assert all_shown(kernels[::2])


def test_sessions_without_that_fact_know_it_of_the_kernel() -> None:
    old = [Kernel(label="a", spec="a", debug_elf="/vmlinux"), Kernel(label="b", spec="b")]
    assert folds(old) == {"vmlinux": ["b"]}
