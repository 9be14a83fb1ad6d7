"""Names in little room: they fit, and no two of a table look alike."""

from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from profdiff.base import names, units

ANY = st.lists(st.text(max_size=80), max_size=8, unique=True)
# What differs by little, somewhere in long names.
NEAR = st.builds(
    lambda middles, before, after: [f"{before * 4}{one}{after * 4}" for one in middles],
    st.lists(st.text("ab", max_size=60), max_size=12, unique=True),
    st.text("xyz", max_size=20),
    st.text("xyz", max_size=20),
)


@settings(max_examples=examples(300))
@given(ANY | NEAR, st.integers(8, 120))
def test_names_fit_and_stay_apart(given_names: list[str], columns: int) -> None:
    printable = [units.printable(name) for name in given_names]
    cut = names.shortened(printable, columns)
    assert cut.keys() == set(printable)
    assert len(set(cut.values())) == len(set(printable))
    for name, text in cut.items():
        assert units.width(text) <= columns
        assert text == name or units.width(name) > columns or "~" in text


def test_what_differs_is_shown() -> None:
    kinds = ["float", "double", "char"]
    long = [f"std::detail::_Hashtable_base<int, {kind}, std::hash<int>>::find" for kind in kinds]
    cut = names.shortened(long, 36)
    for kind, name in zip(kinds, long, strict=True):
        assert kind in cut[name]
        assert cut[name].startswith("std::deta")
        assert cut[name].endswith(">::find")


def test_very_many_that_look_alike() -> None:
    many = [
        f"{'a' * 40}{number:05}{'b' * 90}{number * 7919 % 20_000:05}{'c' * 40}"
        for number in range(20_000)
    ]
    assert len(set(names.shortened(many, 24).values())) == len(many)


def test_a_name_that_fits_is_not_cut() -> None:
    assert names.shortened(["mas_walk", "mas_walk"], 8) == {"mas_walk": "mas_walk"}
