"""The grammar of a wanted metric: what it means, that it gives itself back, what it refuses."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT

from profdiff.base.errors import InputError
from profdiff.collectors.workload.metrics import FORMATS, Wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fio", Wanted(None, None, None, "fio", None)),
        ("fio:job.read.iops", Wanted(None, None, None, "fio", "job.read.iops")),
        ("n=values:x", Wanted("n", None, None, "values", "x")),
        ("n:MiB/s=values:x: y=z", Wanted("n", "MiB/s", None, "values", "x: y=z")),
        ("n:s:higher=values:x", Wanted("n", "s", "higher", "values", "x")),
        ("n::higher=values:x", Wanted("n", None, "higher", "values", "x")),
        ("values:a=b", Wanted(None, None, None, "values", "a=b")),
        ("pattern:a=(?P<x>.)", Wanted(None, None, None, "pattern", "a=(?P<x>.)")),
        ("pattern[2]:(?P<x>.)", Wanted(None, None, None, "pattern", "(?P<x>.)", None, 2)),
        ("n=pattern@a=b/c d:(?P<x>.)", Wanted("n", None, None, "pattern", "(?P<x>.)", "a=b/c d")),
        ("hyperfine:x --y=z:1", Wanted(None, None, None, "hyperfine", "x --y=z:1")),
    ],
)
def test_what_a_text_means(text: str, wanted: Wanted) -> None:
    assert Wanted.parse(text) == wanted
    assert str(wanted) == text


_PRINTABLE = st.characters(exclude_categories=["C", "Z"])
_WORD = st.text(st.one_of(st.just(" "), _PRINTABLE), min_size=1, max_size=20)
_PLAIN = _WORD.filter(lambda text: text == text.strip() and not {":", "="} & set(text))
_KEY = st.one_of(_WORD, st.sampled_from(["a=b", ":", "=", "fio:x", "n:s=values:k", " x "]))


@given(
    st.one_of(st.none(), _PLAIN.filter(lambda name: name not in FORMATS)),
    st.one_of(st.none(), _PLAIN),
    st.sampled_from([None, "lower", "higher"]),
    st.sampled_from([name for name in FORMATS if name != "pattern"]),
    st.one_of(st.none(), _KEY),
)
def test_a_wanted_metric_gives_its_text_back(
    name: str | None, unit: str | None, better: str | None, format_name: str, key: str | None
) -> None:
    if name is None or key is None:
        name = unit = better = None
    wanted = Wanted(name, unit, better, format_name, key)  # type: ignore[arg-type]
    assert Wanted.parse(str(wanted)) == wanted


@given(st.text(max_size=60))
def test_any_text_is_a_wanted_metric_or_refused(text: str) -> None:
    try:
        wanted = Wanted.parse(text)
    except InputError as error:
        assert str(error).isprintable()
    else:
        assert Wanted.parse(str(wanted)) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sysbenhc", "no metric format 'sysbenhc': did you mean sysbench?"),
        ("x=foi:k", "no metric format 'foi': did you mean fio?"),
        ("zzz", "there are google-benchmark, libmicro, fio"),
        ("nsec_per_call", "; a name in the output is values:nsec_per_call"),
        ("", "no metric format ''"),
        ("n=fio", "'n' names one metric: n=fio:KEY"),
        ("n:s:faster=values:x", "direction is lower or higher, not 'faster'"),
        ("n:s:lower:x=values:x", "more than NAME:UNIT"),
        ("=values:x", "'' is not a metric's name"),
        (" n=values:x", "' n' is not a metric's name"),
        ("fio=values:x", "cannot be called 'fio'"),
        ("n" * 201 + "=values:x", "at most 200 characters"),
        ("values:", "'' is not a valid metric of values"),
        ("values:\x1b[2J", r"'\\x1b\[2J' is not a valid metric of values"),
        ("pattern", "pattern needs a regular expression"),
        ("pattern:x+", r"has no named group: write \(\?P<name>"),
        ("pattern:(?P<x>", "is not a regular expression: missing"),
        ("pattern:(?P<x>a{1,99999999999})", "is not a regular expression"),
        ("pattern:" + "(" * 900 + "(?P<x>.)" + ")" * 91, "not a regular expression"),
        ("pattern:(?P<x>.)" + "a" * 1000, "longer than 1,000 characters"),
        ("n=pattern:(?P<x>.)(?P<y>.)", "cannot name the 2 groups"),
        ("pattern[0]:(?P<x>.)", "no metric format 'pattern"),
        ("pattern@ x:(?P<x>.)", "' x' is not a heading"),
        ("values[2]:x", r"write values:NAME\[2\]"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Wanted.parse(text)


def test_a_unit_needs_a_name() -> None:
    with pytest.raises(InputError, match="needs a name"):
        Wanted(None, "s", None, "values", "x")


def test_the_document_has_every_format_and_examples_that_parse() -> None:
    text = (ROOT / "docs/workload-metrics.md").read_text()
    assert re.findall(r"^\| `([\w-]+)` \|", text, re.M) == list(FORMATS)
    examples = re.findall(r"^```\n(.*?)```", text, re.M | re.S)[1].splitlines()
    assert len(examples) == 7
    assert [str(Wanted.parse(line)) for line in examples] == examples
