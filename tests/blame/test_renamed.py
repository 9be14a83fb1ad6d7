"""Which vanished function a new one may be."""

import msgspec
import pytest
from synthetic import Row, compare, findings, frame

from profdiff.base.metric import SAMPLED, Metric
from profdiff.evidence.blame.attribution import Line
from profdiff.evidence.blame.renamed import Names, Pair, other_names, renamed
from profdiff.forms import text
from profdiff.profile.function_identity import Function
from profdiff.reports.documents import session_document
from profdiff.topics.functions import measure, shapes
from profdiff.topics.functions.selection import Selection
from profdiff.views.claims.answers import answers

NAMES = ["kept", "is_swap_pte", "is_swap_entry", "walk_pages", "count_all", "tiny", "other"]
FUNCTIONS = [Function(name, "vmlinux", "mm/x.c", True) for name in NAMES]
FUNCTIONS.append(Function("walk_pages_v2", "work", "work.c", False))
WALK = [("mov r64,r64", "test r64,r64"), ("call @",), ("add $0x8,r64", "cmp r64,r64", "jne @")]
WALK.append(("xor r32,r32", "inc r64"))
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


def test_names_that_are_near() -> None:
    """By their words or their letters; one word alone says nothing."""
    near = [
        ("get_flush_tlb_info", "init_flush_tlb_info"),
        ("is_swap_pte", "softleaf_is_swap"),
        ("_static_cpu_has", "__static_cpu_has"),
        ("update_vdso_data", "update_vdso_time_data"),
        ("kmalloc", "kmallocs"),
    ]
    assert [Names.of(*pair).near for pair in near] == [True] * len(near)
    far = [
        ("run_timer_softirq", "lruvec_stat_mod_folio"),
        ("_atomic_dec_and_lock_irqsave", "get_pfnblock_migratetype"),
        ("to_kthread", "tsk_is_kthread"),
        ("div_s64_rem", "div64_s64"),
        ("get_page", "put_page"),
        ("___", "_"),
    ]
    assert [Names.of(*pair).near for pair in far] == [False] * len(far)


def test_the_same_lines_with_other_code() -> None:
    base, new = code(3, 1, WALK * 2), code(6, 41, COUNT * 3)
    same = {("mm/x.c", line): ("mm/x.c", line + 40) for line in range(1, 9)}
    assert pairs(base, new, same=same) == [("walk_pages", "other")]
    assert pairs(base, new) == []
    # Seven lines are too few for names that have nothing in common.
    del same["mm/x.c", 8]
    assert pairs(base[:7], new[:7], same=same) == []
    # Code without a line is nowhere.
    nowhere = [one._replace(file="", line=0) for one in code(1, 1, WALK[:1])]
    other = [one._replace(file="", line=0) for one in code(2, 1, COUNT[:1])]
    assert pairs(nowhere, other) == []


def test_the_same_text_elsewhere() -> None:
    text = [b"\tweight += pages[%d].size;" % number for number in range(8)]
    texts = {"mm/x.c": text}, {"mm/x.c": [b""] * 40 + text}
    base, new = code(3, 1, WALK * 2), code(6, 41, (COUNT * 3)[:8])
    assert pairs(base, new, texts=texts) == [("walk_pages", "other")]
    # The same line again and again is one line.
    again = [text[0]] * 8
    assert pairs(base, new, texts=({"mm/x.c": again}, {"mm/x.c": [b""] * 40 + again})) == []
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


def called(callee: str, count: int, *callers: str, file: str = "mm/x.c") -> list[Row]:
    """Rows of a function that each of its callers inlines."""
    inlined = frame(callee, inlined=True, file=file)
    return [([frame(one, file="a.c"), inlined], one, True, [count]) for one in callers]


KEPT: list[Row] = [
    ([frame(name, file="a.c")], name, True, [count])
    for name, count in (("relax", 500), ("wait", 700), ("grown", 100))
]
GROWN: list[Row] = [([frame("grown", file="a.c")], "grown", True, [1500])]


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (called("native_pause", 9100, "relax", "wait"), True),
        (called("native_pause", 13_000, "relax", "wait"), False),
        (called("rep_nop_wait", 13_000, "relax", "wait"), True),
        (called("native_pause", 9000, "grown"), False),
        (called("native_pause", 9000, "relax", "wait", file="mm/y.c"), False),
        (
            [*called("one", 9000, "relax", "wait"), *called("two", 9000, "relax", "wait")],
            False,
        ),
    ],
    ids=["name", "dearer", "near", "callers", "file", "two"],
)
def test_other_names(other: list[Row], is_same: bool) -> None:
    """One file, the same callers, and a similar cost; nothing else makes two functions one."""
    base = [*KEPT, *called("rep_nop", 9000, "relax", "wait")]
    comparison = compare({"base": base, "new": [*KEPT, *other]})
    found = [
        (comparison.functions[old].name, comparison.functions[new].name)
        for new, old in other_names(comparison, 1).items()
    ]
    assert [pair[0] for pair in found] == ["rep_nop"] * is_same


def test_samples_tell_of_no_other_names() -> None:
    """What was not sampled may have executed."""
    base = [*KEPT, *called("rep_nop", 9000, "relax", "wait")]
    other = [*KEPT, *called("native_pause", 9000, "relax", "wait")]
    comparison = compare({"base": base, "new": other})
    assert other_names(comparison, 1)
    cycles = Metric("cycles", kind=SAMPLED)
    assert other_names(msgspec.structs.replace(comparison, metric=cycles), 1) == {}


def test_a_renamed_function_is_no_change() -> None:
    """Neither for the first sentence nor in the table; and the page says so."""
    base = [*KEPT, *called("rep_nop", 9000, "relax", "wait")]
    new = [*KEPT[:2], *GROWN, *called("native_pause", 9020, "relax", "wait")]
    comparison = compare({"base": base, "new": new})
    (answer,) = answers(comparison)
    assert answer.largest
    assert answer.largest.functions == ["grown", "native_pause"]
    assert answer.largest.part == pytest.approx(1)
    table = shapes.exact(comparison, measure.select(comparison, Selection(top=9)))
    (block, *_) = text.with_legend(table, 140, None, False)
    lines = "\n".join(block.lines)
    assert lines.count("  renamed  ") == 2 and "vanished" not in lines
    assert "renamed, as far as can be told: rep_nop to native_pause" in lines
    (metric,) = session_document(findings([comparison])).metrics
    marks = {one.name: one.marks for one in metric.functions if one.marks}
    assert marks == {
        "native_pause": {"new": "on base perhaps rep_nop"},
        "rep_nop": {"new": "on new perhaps native_pause"},
    }
