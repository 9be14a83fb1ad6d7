"""Which functions are one, and what is said of runs that differ."""

import pytest
from synthetic import build, compare, frame, manifest, profile

from profdiff.base.errors import SessionError
from profdiff.profile.function_identity import Function, fold, match
from profdiff.views.results import recording


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("change_pte_range.isra.0", "change_pte_range"),
        ("f.constprop.0.isra.0", "f"),
        ("f.part.0", "f"),
        ("f.cold", "f"),
        ("f.part.0.cold", "f"),
        ("f.llvm.1234567890", "f"),
        ("f.lto_priv.0", "f"),
        ("f.localalias", "f"),
        ("f", "f"),
        ("f.other", "f.other"),
        ("f.coldish", "f.coldish"),
        (".cold", ".cold"),
        ("", ""),
    ],
)
def test_folding(symbol: str, name: str) -> None:
    assert fold(symbol)[0] == name


def test_inlined_and_called_are_one_function() -> None:
    caller = frame("caller")
    comparison = compare(
        {
            "base": [([caller, frame("callee", inlined=True)], "caller", True, [5])],
            "new": [([frame("callee")], "callee.constprop.0", True, [8])],
        }
    )
    names = [function.name for function in comparison.functions]
    row = names.index("callee")
    assert comparison.self_[row].tolist() == [5, 8]
    assert comparison.symbols[row] == {"new": ["callee.constprop.0"]}
    assert names.count("callee") == 1


def functions(*files: str) -> list[Function]:
    return [Function("f", "vmlinux", file, True) for file in files]


def test_namesakes_are_kept_apart_by_file() -> None:
    matched = match([functions("a.c", "b.c"), functions("b.c", "a.c")])
    assert [function.file for function in matched.functions] == ["a.c", "b.c"]
    assert matched.namesakes == [True, True]
    assert matched.numbers == [[0, 1], [1, 0]]


def test_a_moved_file_is_the_same_function() -> None:
    matched = match([functions("mm/old.c"), functions("mm/new.c")])
    assert matched.numbers == [[0], [0]]
    assert matched.functions[0].file == "mm/new.c"
    assert matched.namesakes == [False]


def test_one_namesake_left_on_each_side_was_moved() -> None:
    matched = match([functions("a.c", "old.c"), functions("a.c", "new.c")])
    assert matched.numbers == [[0, 1], [0, 1]]


def test_two_left_on_one_side_are_not_guessed() -> None:
    matched = match([functions("a.c", "b.c"), functions("c.c")])
    assert len(matched.functions) == 3


def test_a_file_moved_before_the_third_kernel() -> None:
    matched = match([functions("a.c", "s.c"), functions("a.c", "s.c"), functions("new.c", "s.c")])
    assert matched.numbers == [[0, 1], [0, 1], [0, 1]]
    assert [function.file for function in matched.functions] == ["new.c", "s.c"]


def test_a_third_kernel_does_not_make_a_guess_certain() -> None:
    """new.c may be a.c or b.c: that the second kernel lacks a.c does not tell."""
    matched = match([functions("a.c", "b.c"), functions("b.c"), functions("new.c")])
    assert len(matched.functions) == 3


def test_the_same_name_elsewhere_is_another_function() -> None:
    comparison = compare(
        {
            "base": [
                ([frame("f")], "f", True, [1]),
                ([frame("f", owner="mod")], "f", True, [2]),
                ([frame("f", owner="work")], "f", False, [4]),
            ]
        }
    )
    assert len(comparison.functions) == 3


def test_runs_that_differ_are_told() -> None:
    rows = [([frame("f")], "f", True, [10, 30, 20]), ([frame("g")], "g", True, [1, 1, 1])]
    comparison = compare({"base": rows, "new": [([frame("f")], "f", True, [7, 7, 7])]})
    base, new = comparison.repetitions
    assert (base.runs, base.identical, base.lowest, base.highest) == (3, False, 11, 31)
    assert [(f.name, low, high) for f, low, high in base.differing] == [("f", 10, 30)]
    assert new.identical
    assert comparison.totals().tolist() == [21, 7]


def test_equal_sums_at_other_addresses_are_not_bit_for_bit() -> None:
    rows = [([frame("f")], "f", True, [1, 2]), ([frame("f")], "f", True, [2, 1])]
    comparison = compare({"base": rows})
    assert not comparison.repetitions[0].identical


def test_what_differs_between_runs_is_never_left_out() -> None:
    many = [([frame(f"f{n}")], "f", True, [10, 11 + n]) for n in range(6)]
    lines = [one.text for one in recording.remarks([compare({"base": many})])]
    assert "base: f5 differs, 10 to 16" in lines
    assert "base: 3 more functions differ" in lines
    unresolved = [("no-symbol", "", True, [5, 9]), ([frame("f")], "f", True, [1, 1])]
    lines = [one.text for one in recording.remarks([compare({"base": unresolved})])]
    assert "base: unresolved: no-symbol (kernel) differs, 5 to 9" in lines
    moved = [([frame("f")], "f", True, [1, 2]), ([frame("f")], "f", True, [2, 1])]
    lines = [one.text for one in recording.remarks([compare({"base": moved})])]
    assert (
        "base: the counts of all functions are equal, but counts at addresses within them differ"
        in lines
    )


def test_recursion_counts_once() -> None:
    f = frame("f")
    comparison = compare({"base": [([f, frame("g"), f], "f", True, [9])]})
    by_name = {function.name: row for row, function in enumerate(comparison.functions)}
    assert comparison.total[by_name["f"], 0] == 9
    assert comparison.total[by_name["g"], 0] == 9
    assert comparison.self_[by_name["g"], 0] == 0


def test_without_a_base_nothing_is_compared() -> None:
    rows = [([frame("f")], "f", True, [1])]
    with pytest.raises(SessionError, match="base, a, has no finished run"):
        build(manifest(["a", "b"]), {"b": profile(rows)})
    with pytest.raises(SessionError, match="failed last: the workload ended with exit status 3"):
        build(manifest(["a", "b"], failed=["a"]), {"b": profile(rows)})
