"""Which options of a config leave a line out: only what the sources show by themselves."""

import pytest

from profdiff.evidence.blame.config_lines import compiled_by, enclosing

SOURCE = b"""\
int always;
#ifdef CONFIG_A
int with_a;
# ifndef CONFIG_B
int with_a_without_b;
# else /* CONFIG_B */
int with_both;
# endif
#else
int without_a;
#endif
#if IS_ENABLED(CONFIG_C)
int with_c;
#elif defined(CONFIG_D)
int unclear;
#endif
#if CONFIG_LEVELS > 4
int unclear_too;
#ifdef CONFIG_A
int with_a_at_least;
#endif
#endif
#if !defined(CONFIG_E)
int without_e;
#endif
#if defined(CONFIG_F) || defined(CONFIG_G)
int unclear_at_last;
#endif
#endif
int always_too;
"""
EXPECTED = {
    "always": [],
    "with_a": [("CONFIG_A", True)],
    "with_a_without_b": [("CONFIG_A", True), ("CONFIG_B", False)],
    "with_both": [("CONFIG_A", True), ("CONFIG_B", True)],
    "without_a": [("CONFIG_A", False)],
    "with_c": [("CONFIG_C", True)],
    "unclear": [],
    "unclear_too": [],
    "with_a_at_least": [("CONFIG_A", True)],
    "without_e": [("CONFIG_E", False)],
    "unclear_at_last": [],
    "always_too": [],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_conditions_around_a_line(name: str) -> None:
    lines = SOURCE.splitlines()
    line = lines.index(f"int {name};".encode()) + 1
    found = [conditions for start, conditions in enclosing(lines) if start < line]
    assert found[-1] == EXPECTED[name]


@pytest.mark.parametrize(
    ("makefile", "expected"),
    [
        ("obj-$(CONFIG_KSM) += ksm.o", ["CONFIG_KSM"]),
        ("obj-$(CONFIG_KSM) += other.o \\\n\tksm.o", ["CONFIG_KSM"]),
        ("obj-y += ksm.o", []),
        ("obj-$(CONFIG_KSM) += ksm.o\nobj-$(CONFIG_NUMA) += ksm.o", []),
        ("obj-$(CONFIG_KSM) += aksm.o ksm.old", []),
        ("obj-y := mmap.o \\\n\t\tksm.o\nobj-$(CONFIG_KSM) += ksm.o", []),
        ("", []),
    ],
)
def test_the_option_that_compiles_a_file(makefile: str, expected: list[str]) -> None:
    assert compiled_by(makefile.encode().splitlines(), "ksm.o") == expected
