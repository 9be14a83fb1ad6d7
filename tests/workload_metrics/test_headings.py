"""Names that stand several times below different headings: which is meant, and what to type."""

import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.base.errors import InputError
from profdiff.collectors.workload.metrics import Wanted, read
from profdiff.collectors.workload.metrics.reading import with_headings

SECTIONS = (Path(__file__).resolve().parent / "samples/sections.txt").read_text()
AVERAGE = r"Avg: +(?P<nsec_per_call>[\d.]+)"
OUTLINE = """\
Size 4K
  PROT_NONE:
    Avg: 1 ns
  PROT_READ: 20 calls
    Avg: 2 ns
Size 8K
  PROT_NONE:
    Avg: 3 ns
  PROT_READ: 20 calls
    Avg: 4 ns
  elapsed: 5 s
== the end ==
elapsed: 6 s
[a]
x: 7
# b
x: 8
y: 9
y: 10
"""


def _read(output: str, *wanted: str) -> dict[str, list[float]]:
    found = read([Wanted.parse(text) for text in wanted], output)
    return {metric.name: values for metric, values in found.items()}


def _refused(output: str, wanted: str) -> str:
    with pytest.raises(InputError) as raised:
        _read(output, wanted)
    assert str(raised.value).isprintable()
    return str(raised.value)


@pytest.mark.parametrize(
    ("wanted", "name", "value"),
    [
        ("values:PROT_NONE/Avg", "PROT_NONE/Avg", 7618.13),
        ("values:Avg[2]", "Avg[2]", 8198.29),
        ("values:Total: Avg", "Total: Avg", 7934.57),
        ("values:Ratio PROT_NONE / PROT_READ|PROT_WRITE/Max", None, 1.056),
        ("rw=values:PROT_READ|PROT_WRITE/Min", "rw", 8132),
        (f"pattern@PROT_NONE:{AVERAGE}", "PROT_NONE/nsec_per_call", 7618.13),
        (f"pattern@PROT_READ|PROT_WRITE:{AVERAGE}", None, 8198.29),
        (f"pattern[4]:{AVERAGE}", "nsec_per_call[4]", 7934.57),
        (f"last:ns=pattern[4]:{AVERAGE}", "last", 7934.57),
    ],
)
def test_one_of_several(wanted: str, name: str | None, value: float) -> None:
    ((found, values),) = _read(SECTIONS, wanted).items()
    assert values == [value]
    assert found == (name or found)
    assert str(Wanted.parse(wanted)) == wanted


def test_all_that_sections_have() -> None:
    found = _read(SECTIONS, "values")
    headings = ["PROT_NONE", "PROT_READ|PROT_WRITE", "Ratio PROT_NONE / PROT_READ|PROT_WRITE"]
    wanted = [f"{heading}/{name}" for heading in headings for name in ("Min", "Max", "Avg")]
    assert list(found) == ["Region size: 400 KiB, iterations", *wanted, "Total: Avg"]
    # By eye, and by each line's own number.
    told = [float(number) for number in re.findall(r"([\d.]+)(?: nsec/call)?$", SECTIONS, re.M)]
    assert [value for values in found.values() for value in values] == told


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        ("values:Size 8K/PROT_READ/Avg", 4),
        ("values:elapsed[1]", 5),
        ("values:the end/elapsed", 6),
        ("values:a/x", 7),
        ("values:b/x", 8),
        ("values:y[2]", 10),
        (r"pattern@Size 4K/PROT_NONE:Avg: (?P<v>\d)", 1),
        (r"pattern@Size 4K/PROT_READ:Avg: (?P<v>\d)", 2),
    ],
)
def test_headings_in_other_forms(wanted: str, value: float) -> None:
    assert list(_read(OUTLINE, wanted).values()) == [[value]]


def test_what_is_refused_says_what_to_type() -> None:
    told = _refused(SECTIONS, "values:Avg")
    assert "finds 'Avg' 3 times" in told
    typed = shlex.split(told.partition("take ")[2].replace(",", "").replace(" or ", " "))
    assert [_read(SECTIONS, one) for one in typed] == [
        {typed[0].removeprefix("values:"): [7618.13]},
        {typed[1].removeprefix("values:"): [8198.29]},
        {typed[2].removeprefix("values:"): [0.929]},
    ]
    told = _refused(SECTIONS, f"pattern:{AVERAGE}")
    assert "finds 'nsec_per_call' 4 times" in told
    assert "pattern@PROT_NONE:..., pattern@PROT_READ|PROT_WRITE:..." in told
    assert "or pattern[1]:... to pattern[4]:..." in told
    assert "'PROT_NONE/Avg'?" in _refused(SECTIONS, "values:PROT_NON/Avg")
    assert "'PROT_NONE'?" in _refused(SECTIONS, f"pattern@PROT_NON:{AVERAGE}")
    assert "there is no 'Avg[4]'" in _refused(SECTIONS, "values:Avg[4]")
    assert "there is no number 5" in _refused(SECTIONS, f"pattern[5]:{AVERAGE}")
    assert "write values:PROT_NONE/NAME" in _refused(SECTIONS, "values@PROT_NONE:Avg")
    assert "'' is not a heading" in _refused(SECTIONS, f"pattern@:{AVERAGE}")
    three = _refused(SECTIONS, r"pattern@PROT_NONE:(?P<x>[\d.]+)")
    assert "3 times below 'PROT_NONE': let the expression match one" in three
    told = _refused(OUTLINE, r"pattern@PROT_NONE:Avg: (?P<v>\d)")
    assert "take pattern@Size 4K/PROT_NONE:... or pattern@Size 8K/PROT_NONE:..." in told
    assert "'values:y[1]' or 'values:y[2]'" in _refused(OUTLINE, "values")


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[A-Z][a-z|_]{0,8}", fullmatch=True),
            st.lists(st.integers(0, 10**6), min_size=1, max_size=3),
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda section: section[0],
    ),
    st.sampled_from(["", "  "]),
    st.sampled_from(["{}:", "== {} ==", "[{}]", "## {}"]),
)
def test_sections_are_read_back(
    sections: list[tuple[str, list[int]]], indent: str, form: str
) -> None:
    lines = []
    for title, values in sections:
        lines += [form.format(title), *(f"{indent}v{at}: {v} ns" for at, v in enumerate(values))]
    output = "\n".join(lines)
    for title, values in sections:
        for at, value in enumerate(values):
            assert list(_read(output, f"values:{title}/v{at}").values()) == [[value]]
            found = _read(output, rf"pattern@{title}:v{at}: (?P<x>\d+)")
            assert list(found.values()) == [[value]]


@given(st.lists(st.text(" ab:=[]#-1\t", max_size=8), max_size=30))
def test_every_line_comes_back_below_some_headings(lines: list[str]) -> None:
    output = "\n".join(lines)
    found = list(with_headings(output))
    assert [line for line, _ in found] == [line.rstrip() for line in output.splitlines() if line]
    assert all(headings.count("") == 0 for _, headings in found)
