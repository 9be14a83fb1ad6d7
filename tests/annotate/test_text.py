"""The text of an annotation: what it shows, that it adds up, and that it fits."""

import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from synthetic_annotation import On, annotation, row

from profdiff.base import units
from profdiff.base.terminal import Styled
from profdiff.reports.annotation.text import render
from profdiff.reports.form import Layout, ReportOptions
from profdiff.views.annotation.records import Annotation, Relation, Row

A, B = 0xFFFF_FFFF_8110_0000, 0xFFFF_FFFF_8120_0000


def text(shown: Annotation, width: int = 100, **asked: object) -> list[str]:
    """Lines."""
    common = {name: asked.pop(name) for name in ("per_op", "ascii_only") if name in asked}
    layout = Layout(**asked)  # type: ignore[arg-type]
    return [
        line.text for line in render(shown, ReportOptions(width=width, layout=layout, **common))
    ]  # type: ignore[arg-type]


def both(
    relation: Relation,
    at: int,
    base: tuple[str, int],
    new: tuple[str, int],
    jumps: Sequence[tuple[int, int]] = (),
) -> Row:
    """A row of both kernels; ``jumps``: of each how often, and where to."""
    line = 10 + at // 8
    on = {"base": On(A + at, *base, line), "new": On(B + at, *new, line + 5)}
    for (label, one), (taken, target) in zip(list(on.items()), jumps, strict=False):
        on[label] = one._replace(taken=taken, target=target)
    return row(relation, on)


def loop() -> Annotation:
    """A function with a loop that became longer, and a path that nothing takes."""
    rows = [
        both("same", 0, ("push   %rbp", 10), ("push   %rbp", 10)),
        both("same", 8, ("mov    (%rax),%rcx", 100), ("mov    (%rdx),%rcx", 160)),
        row("only", {"new": On(B + 0xB, "lea    -0x1(%r8),%r9d", 160, 40)}),
        both("changed", 0x10, ("mov    $0x8,%edx", 100), ("mov    $0x10,%edx", 160)),
        row("only", {"base": On(A + 0x13, "shr    $0x3,%rcx", 100, 39)}),
        both(
            "same",
            0x18,
            ("jne    f+0x8", 100),
            ("jne    f+0x8", 160),
            jumps=((90, A + 8), (140, B + 8)),
        ),
        *(both("same", 0x20 + 8 * n, ("ud2", 0), ("ud2", 0)) for n in range(9)),
        both("same", 0x80, ("ret", 10), ("ret", 10)),
    ]
    return annotation(
        ["base", "new"], rows, texts={11: "\t\told = *p;"}, ops=10, calls={"base": 10, "new": 10}
    )


def test_the_head() -> None:
    assert text(loop())[:8] == [
        "f: instructions per op (10 ops)",
        " base    new   delta  change",
        "42.00  66.00  +24.00  +57.1%  instructions per op",
        "              +12.00            the same code, executed more often",
        "              +12.00            other code",
        " 1.00   1.00       0      0%  calls per op",
        "42.00  66.00  +24.00          instructions per call",
        "   60     60       0          bytes of own code",
    ]


def cold(times: int) -> Annotation:
    """A prologue that runs rarely, then a loop, and rare code behind it."""
    rows = [
        *(both("same", 8 * n, ("push   %rbp", times), ("push   %rbp", times)) for n in range(6)),
        *(both("same", 0x30 + 8 * n, ("inc    %eax", 1000), ("inc    %eax", 2000)) for n in (0, 1)),
        *(both("same", 0x40 + 8 * n, ("pop    %rbp", times), ("pop    %rbp", 0)) for n in range(4)),
    ]
    return annotation(["base", "new"], rows)


def test_the_hot_part_comes_first() -> None:
    """Instructions below 1% of the hottest are one line, with the sum of their counts."""
    shown = text(cold(19))
    code = [line for line in shown if re.search(r"push|pop|inc|more, each", line)]
    told = "more, each below 1% of the hottest (--cold)"
    assert [line.split("... ")[-1] for line in code if "more" in line] == [f"4 {told}", f"2 {told}"]
    assert len([line for line in code if "inc " in line]) == 2
    # Those beside the loop are its context; the others are summed.
    assert code[0].split()[:2] == ["76", "76"]
    assert not any(told in line for line in text(cold(19), cold=True))
    assert not any(told in line for line in text(cold(20)))
    assert len([line for line in text(cold(19), cold=True) if "push " in line]) == 6


def test_a_call_executes_no_inlined_copies() -> None:
    """Where one kernel calls the function and the other one inlines it, that is one place."""
    shown = loop()
    place = shown.places[0]
    own, inlined = ["f"], ["g", "f"]
    paired = replace(place, chain=inlined, chains={"base": inlined, "new": own})
    lines = text(replace(shown, places=[paired], calls={"base": 0, "new": 10}))
    assert " 0.00   1.00   +1.00     new  calls per op" in lines
    assert "    -  66.00                  instructions per call" in lines
    copies = replace(place, chain=inlined, chains={"base": inlined, "new": inlined})
    assert " per call" not in "\n".join(text(replace(shown, places=[copies])))


def test_the_code() -> None:
    lines = text(loop())
    start = next(number for number, line in enumerate(lines) if line.endswith("  code"))
    end = lines.index("", start)
    assert lines[start - 1 : end] == [
        "",
        " base    new   delta  code",
        "42.00  66.00  +24.00  f, mm/x.c",
        "                         line 10/15",
        " 1.00   1.00               push   %rbp",
        "                         line 11/16:     old = *p;",
        "10.00  16.00   +6.00  ╭▶   mov    (%rdx),%rcx",
        "                      │  line -/40",
        "       16.00  +16.00  │  + lea    -0x1(%r8),%r9d",
        "                      │  line 12/17",
        "10.00                 │  ~ mov    $0x8,%edx",
        "       16.00   +6.00  │  ~ mov    $0x10,%edx",
        "                      │  line 39/-",
        "10.00         -10.00  │  - shr    $0x3,%rcx",
        "                      │  line 13/18",
        "10.00  16.00   +6.00  ╰─   jne    +0x8  taken 90.0% / 87.5%",
        "                         line 14/19",
        "    0      0               ud2",
        "                         line 15/20",
        "    0      0               ud2",
        "                         ... 5 more, never executed",
        "                         line 21/26",
        "    0      0               ud2",
        "                         line 22/27",
        "    0      0               ud2",
        "                         line 26/31",
        " 1.00   1.00               ret",
    ]
    legend = " ".join(lines[end + 1 :])
    for part in ("- only on base", "+ only on new", "~ other operands", "relative to base"):
        assert part in legend


def test_by_line() -> None:
    lines = text(loop(), by="line")
    assert "42.00  66.00  +24.00  mm/x.c" in lines
    assert "10.00  16.00   +6.00    line 11/16:     old = *p;" in lines
    assert "       16.00  +16.00    line -/40" in lines
    assert "                        ... 9 more, never executed" in lines
    assert sum(line.startswith("    0") for line in text(loop(), by="line", context=3)) == 6
    assert not any("only on" in line for line in lines)


def test_whole_counts() -> None:
    lines = text(loop(), per_op=False)
    assert lines[0] == "f: instructions"
    (jump,) = (line for line in lines if "jne " in line)
    assert jump.startswith(" 100  160") and jump.endswith("taken 90 of 100 / 140 of 160")


def test_addresses() -> None:
    (jump,) = (line for line in text(loop(), addresses=True) if "jne " in line)
    assert "81200018  jne    +0x8" in jump


def test_context() -> None:
    assert sum("ud2" in line for line in text(loop(), context=0)) == 0
    assert sum("ud2" in line for line in text(loop(), context=100)) == 9
    # A gap of one is as long as what would stand for it.
    assert sum("ud2" in line for line in text(loop(), context=4)) == 9


def test_a_kernel_that_executed_nothing() -> None:
    rows = [row("only", {"new": On(B, "ret", 5, 3)})]
    shown = annotation(["base", "new"], rows, notes=["something else"])
    assert "note: not executed on base" in text(shown)
    assert "note: something else" in text(shown)


def test_one_kernel() -> None:
    shown = annotation(["base"], [row("same", {"base": On(A, "ret", 3, 3)})])
    lines = text(shown)
    assert lines[:3] == ["f: instructions", "base", "   3  instructions"]
    assert "   3  100.0%    ret" in lines
    assert not any("delta" in line or "only on" in line for line in lines)


def test_places_with_the_largest_delta_come_first() -> None:
    rows = [
        row("same", {"base": On(A, "nop", 9, 3), "new": On(B, "nop", 9, 3)}, place=0),
        row("same", {"base": On(A + 8, "nop", 5, 3), "new": On(B + 8, "nop", 7, 3)}, place=1),
        row("same", {"base": On(A + 16, "nop", 0, 3), "new": On(B + 16, "nop", 0, 3)}, place=2),
    ]
    shown = annotation(["base", "new"], rows, chains=[["f"], ["g", "h", "f"], ["i", "f"]])
    titles = [line for line in text(shown) if line.endswith(", mm/x.c")]
    assert titles == ["   5    7     +2  g → h → f, mm/x.c", "   9    9         f, mm/x.c"]
    assert "   5    7     +2  g -> h -> f, mm/x.c" in text(shown, ascii_only=True)


def test_a_copy_has_all_of_its_functions_of_each_kernel() -> None:
    """Where there is no room on a line, on more of them; nobody is asked to guess what .. is."""
    chain = [f"function_number_{number}" for number in range(8)]
    own = {"base": On(A, "nop", 9, 3), "new": On(B, "nop", 9, 3)}
    shown = annotation(["base", "new"], [row("same", own)], chains=[[*chain, "f"]])
    other = replace(shown.places[0], chains={"base": ["g", "f"], "new": [*chain, "f"]})
    both_chains = replace(shown, places=[other])
    for width in (60, 100, 140):
        lines = text(shown, width)
        end = next(number for number, line in enumerate(lines) if "line 3" in line)
        names = "".join(lines[:end]).split()
        assert all(names.count(name) == 1 for name in chain)
        whole = "".join(text(both_chains, width))
        assert "new: function_number_0" in whole
        assert "g → f, mm/x.c" in whole and all(whole.count(name) == 1 for name in chain)


def test_how_often_a_branch_jumped_is_cut_last() -> None:
    far = On(A, "jne    " + "other_function" * 6 + "+0x8", 10, 3, 9, A + 800)
    (jump,) = (
        line for line in text(annotation(["b"], [row("same", {"b": far})]), 60) if "jne" in line
    )
    assert jump.endswith("..  taken 9 of 10") and len(jump) <= 60
    cold = On(A, "jne    f.cold+0x8", 10, 3, 9, A + 800)
    assert any("f.cold+0x8" in line for line in text(annotation(["b"], [row("same", {"b": cold})])))
    part = On(A, "jne    f.isra.0+0x8", 10, 3, 9, A + 800)
    assert any(
        "jne    +0x8" in line for line in text(annotation(["b"], [row("same", {"b": part})]))
    )


def test_samples_stand_beside_their_shares() -> None:
    rows = [
        row(
            "same",
            {
                "base": On(A, "mov    %rax,%rbx", 3_000, 3, samples=3),
                "new": On(B, "mov    %rax,%rbx", 9_000, 3, samples=9),
            },
        ),
        row("only", {"base": On(A + 3, "ret", 1_000, 3, samples=1)}),
    ]
    shown = annotation(["base", "new"], rows)
    lines = text(shown)
    assert "4,000  9,000  +5,000  +125.0%  cycles" in lines
    assert "    4      9      +5           samples" in lines
    assert "  base     new   delta  samples  code" in lines
    assert " 75.0%  100.0%  +6,000      3/9    mov    %rax,%rbx" in lines
    assert " 25.0%          -1,000      1/-  - ret" in lines


def test_names_of_strangers_do_nothing() -> None:
    rows = [row("same", {"base": On(A, "call   a\x1b[2Jb\u202ec\nd", 1, 3)}, file="x\x1b].c")]
    for line in text(annotation(["base"], rows, texts={3: "a\x07\rb"}, notes=["\x1b[1m"])):
        assert line.isprintable()


def test_colour_is_on_what_it_is_about() -> None:
    def coloured(lines: Sequence[Styled], style: str) -> list[str]:
        return [
            line.text[span.start : span.end]
            for line in lines
            for span in line.spans
            if span.style == style
        ]

    lines = render(loop(), ReportOptions(width=100))
    assert "       16.00  +16.00  " in coloured(lines, "more")
    assert coloured(lines, "less") == ["10.00         -10.00  "]
    assert [one.split()[-1] for one in coloured(lines, "dim")] == ["ud2", "ud2", "executed"] + [
        "ud2"
    ] * 2
    assert "                         line 11/16:     old = *p;" in coloured(lines, "source")


_counts = st.integers(-3, 10**12)


@st.composite
def _annotations(draw: st.DrawFn) -> Annotation:
    labels = draw(st.sampled_from([["base"], ["base", "new"], ["base", "mid", "new"]]))
    chains = draw(st.sampled_from([[["f"]], [["f"], ["g", "f"]], [["g", "f"], ["h" * 90, "f"]]]))
    rows = []
    for number in range(draw(st.integers(1, 12))):
        own = draw(st.lists(st.sampled_from(labels), min_size=1, unique=True))
        own = [label for label in labels if label in own]
        whole = own == labels
        relation = draw(st.sampled_from(["same", "changed"])) if whole else "only"
        rows.append(
            row(
                relation,
                {
                    label: On(
                        A + 16 * number,
                        draw(st.sampled_from(["nop", "mov    %rax,%rbx", "call   " + "x" * 80])),
                        draw(_counts),
                        draw(st.integers(0, 4)),
                        target=A + 16 * draw(st.integers(0, 12)),
                    )
                    for label in own
                },
                place=draw(st.integers(0, len(chains) - 1)),
            )
        )
    return annotation(labels, rows, chains=chains, texts={1: "int " * 40})


@given(
    _annotations(), st.integers(60, 200), st.booleans(), st.sampled_from(["instruction", "line"])
)
def test_it_fits(shown: Annotation, width: int, ascii_only: bool, by: str) -> None:
    lines = text(shown, width, ascii_only=ascii_only, by=by)
    wide = max(map(units.width, lines))
    # Numbers are never cut, and code keeps what is needed to tell it.
    assert wide <= width or wide <= 16 + sum(15 * 2 + 4 for _ in shown.labels)
    assert all(line == line.rstrip() for line in lines)
    assert not ascii_only or "".join(lines).isascii()


@given(_annotations(), st.sampled_from(["instruction", "line"]))
def test_the_counts_that_are_printed_add_up(shown: Annotation, by: str) -> None:
    """Also where operands differ, and a row takes more than one line."""
    lines = text(shown, 4_000, by=by, per_op=False, context=100)
    head = max(number for number, line in enumerate(lines) if line.endswith("  code"))
    labels = shown.labels
    ends = {label: lines[head].index(label) + len(label) for label in labels}
    sums = dict.fromkeys(labels, 0)
    for line in lines[head + 1 : lines.index("", head)]:
        title = line[lines[head].index("code") :]
        if title.endswith(", mm/x.c") or title == "mm/x.c":
            continue
        for label, end in ends.items():
            cell = line[:end].split("  ")[-1].strip().replace(",", "")
            sums[label] += int(cell) if cell else 0
    assert sums == shown.self
