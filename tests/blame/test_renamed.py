"""Which vanished function a new one may be."""

from profdiff.evidence.blame.executed import Line
from profdiff.evidence.blame.renamed import Pair, renamed
from profdiff.profile.function_identity import Function

NAMES = ["kept", "is_swap_pte", "is_swap_entry", "walk_pages", "count_all", "tiny", "other"]
FUNCTIONS = [Function(name, "vmlinux", "mm/x.c", True) for name in NAMES]
FUNCTIONS.append(Function("walk_pages_v2", "work", "work.c", False))
WALK = [("mov r64,r64", "test r64,r64"), ("call @",), ("add $0x8,r64", "cmp r64,r64", "jne @")]
COUNT = [("imul r64,r64", "sub r32,r32"), ("lock inc",), ("bt r64,r64", "sbb r32,r32", "jae @")]
NOTHING: tuple[dict[str, list[bytes]], dict[str, list[bytes]]] = ({}, {})


def code(function: int, first: int, copies: list[tuple[str, ...]], count: int = 100) -> list[Line]:
    return [
        Line(function, "mm/x.c", first + at, count, frozenset({copy}))
        for at, copy in enumerate(copies)
    ]


def pairs(base: list[Line], new: list[Line], **more: object) -> list[tuple[str, str]]:
    found = renamed(base, new, FUNCTIONS, more.get("same", {}), more.get("texts", NOTHING))  # type: ignore[arg-type]
    assert all(isinstance(one, Pair) and 0.6 <= one.alike <= 1 for one in found)
    return [(NAMES[one.vanished], NAMES[one.new]) for one in found]


def test_the_same_code_under_another_name() -> None:
    base = [*code(3, 1, WALK * 3), *code(0, 90, WALK)]
    new = [*code(6, 40, WALK * 3), *code(4, 60, COUNT * 3), *code(0, 90, WALK)]
    assert pairs(base, new) == [("walk_pages", "other")]
    # What both kernels execute is never renamed.
    assert pairs([*base, *code(6, 40, WALK * 3)], new) == []


def test_small_functions_need_names_that_are_alike() -> None:
    small = [("test r64,r64", "sete r8")]
    assert pairs(code(1, 1, small), code(2, 9, small)) == [("is_swap_pte", "is_swap_entry")]
    assert pairs(code(1, 1, small), code(5, 9, small)) == []


def test_the_same_lines_with_other_code() -> None:
    base, new = code(3, 1, WALK), code(6, 41, COUNT)
    same = {("mm/x.c", line): ("mm/x.c", line + 40) for line in (1, 2, 3)}
    assert pairs(base, new, same=same) == [("walk_pages", "other")]
    assert pairs(base, new) == []


def test_the_same_text_elsewhere() -> None:
    text = [b"\twhile (next(page))", b"\t\tcount += weigh(page);", b"\treturn count + weight;"]
    texts = {"mm/x.c": text}, {"mm/x.c": [b""] * 40 + text}
    base, new = code(3, 1, WALK), code(6, 41, COUNT)
    assert pairs(base, new, texts=texts) == [("walk_pages", "other")]
    braces = {"mm/x.c": [b"{", b"}", b"else"]}, {"mm/x.c": [b""] * 40 + [b"{", b"}", b"else"]}
    assert pairs(base, new, texts=braces) == []


def test_a_function_of_the_kernel_is_none_of_a_program() -> None:
    found = renamed(code(3, 1, WALK * 3), code(7, 1, WALK * 3), FUNCTIONS, {}, NOTHING)
    assert found == []


def test_each_function_is_in_one_pair_at_most() -> None:
    base = [*code(3, 1, WALK * 3), *code(4, 30, WALK * 3, count=1000)]
    new = [*code(6, 60, WALK * 3), *code(5, 90, WALK * 3)]
    found = pairs(base, new)
    assert len({name for pair in found for name in pair}) == 2 * len(found) == 4
    assert found[0][0] == "count_all"  # what executed most first
