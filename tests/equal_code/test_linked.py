"""Equal code of small linked files: layout is no difference, all else is."""

import re
from pathlib import Path

import pytest
from equal_code.linked import different, link, verdict
from extent import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = [pytest.mark.build, pytest.mark.build]

KERNEL = r"""// kernel.c
struct operations { int (*first)(int); const char *name; };
static const short weights[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
static const int first_table[4] = {11, 12, 13, 14};
const int *const tables[2] = {first_table, 0};
int counter = 5, spare = 6;
static long started;
long zeros[100];
int leaf(int i) { return i * 7 + 3; }
int other(int i) { return i * 9 - 3; }
static int nothing(int i) { return i; }
struct operations ops = {leaf, "operations of a kind"};
const struct operations fixed = {other, "fixed operations"};
int weigh(int i) { return weights[i & 15] + counter; }
int caller(int i) { return __builtin_expect(i > 3, 1) ? leaf(i) * 2 : other(i); }
int through(int i) { return ops.first(i) + fixed.first(i); }
int table(int i, int j) { return tables[i][j]; }
const struct operations *which(int i) { return i ? &fixed : &ops; }
const char *text(int i) { return i ? "some text for people" : "other text"; }
long *zero(int i) { started += i; return &zeros[i & 63]; }
int pass(int i) { return nothing(i) + spare; }
void *own(void) { return (void *)own; }
int switched(int i) {
    switch (i) {
    case 0: return leaf(8); case 1: return other(2); case 2: return leaf(3) * counter;
    case 3: return other(i) + 1; case 4: return counter + 40; case 5: return leaf(55) + spare;
    case 6: return weigh(1); case 7: return caller(2); default: return 9;
    }
}
"""
# Takes room before the others: code, constants, data, strings and zeros.
INSERTED = r"""// inserted.c
static const int numbers[777] = {1, 2, 3};
int inserted_data[1003] = {5, 4, 3, 2, 1};
char inserted_zeros[4321];
const char *inserted_text(int i) { return i ? "a text that was inserted" : "and one more"; }
int inserted(int i) {
    for (int j = 0; j < i; j++) inserted_data[j] += numbers[j] * inserted_zeros[j + i];
    return inserted_data[i];
}
"""
JUMPS = ["-fjump-tables", "-fno-tree-switch-conversion"]


@pytest.mark.parametrize("flags", [JUMPS, ["-fno-jump-tables", "-O1"]], ids=["tables", "branches"])
def test_a_file_is_equal_to_itself(tmp_path: Path, flags: list[str]) -> None:
    elf = link(tmp_path, KERNEL, INSERTED, flags=flags)
    found = verdict(elf, elf)
    assert {"weigh", "switched", "through", "inserted"} < found.keys()
    assert set(found.values()) == {"equal"}


@pytest.mark.parametrize("flags", [JUMPS, ["-fno-jump-tables", "-O1"]], ids=["tables", "branches"])
def test_layout_is_no_difference(tmp_path: Path, flags: list[str]) -> None:
    before = link(tmp_path, KERNEL, flags=flags)
    for sources in ((INSERTED, KERNEL), (KERNEL, INSERTED)):
        after = link(tmp_path, *sources, flags=flags)
        assert before.read_bytes() != after.read_bytes()
        assert different(before, after) == {}
        found = different(after, before)
        assert found == {"inserted": "absent", "inserted_text": "absent"}


# What is changed, and what of each function is then told.
CHANGES = [
    ("i * 7 + 3", "i * 7 + 4", {"leaf": "instructions"}),
    ("i * 9 - 3", "i * 9 - i", {"other": "instructions"}),
    ("leaf(i) * 2 : other(i)", "other(i) * 2 : leaf(i)", {"caller": "operand"}),
    ("counter = 5", "counter = 8", {"weigh": "data", "switched": "data"}),
    ("5, 3, 5, 8", "5, 3, 5, 7", {"weigh": "data"}),
    ("short weights[16] = {", "short weights[17] = {", {"weigh": "operand"}),
    ("{11, 12, 13, 14}", "{11, 12, 13, 15}", {"table": "data"}),
    ("{leaf, \"op", "{other, \"op", {"through": "data", "which": "data"}),
    ("operations of a kind", "operations of no kind", {"through": "data", "which": "data"}),
    ("\"fixed operations\"", "\"fixed operation\"", {"which": "data"}),
    ("some text for people", "some text for nobody", {"text": "data"}),
    ("\"other text\"", "\"other text.\"", {"text": "data"}),
    ("long zeros[100]", "long zeros[101]", {"zero": "operand"}),
    ("long zeros[100]", "long zeros[100] = {1}", {"zero": "data"}),
    ("zeros[i & 63]", "zeros[i & 31]", {"zero": "instructions"}),
    ("nothing(i) + spare", "nothing(i) + counter", {"pass": "operand"}),
    ("case 4: return counter + 40", "case 4: return counter + 41", {"switched": "instructions"}),
    ("(void *)own", "(void *)leaf", {"own": "operand"}),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), CHANGES, ids=[one[1] for one in CHANGES])
def test_every_change_is_told(tmp_path: Path, old: str, new: str, expected: dict[str, str]) -> None:
    assert KERNEL.count(old) == 1
    flags = [*JUMPS, "-fno-inline", "-fno-ipa-cp", "-fno-ipa-ra"]
    before = link(tmp_path, KERNEL, flags=flags)
    after = link(tmp_path, INSERTED, KERNEL.replace(old, new), flags=flags)
    assert different(before, after) == expected


NUMBERS = st.integers(-(2**31), 2**31 - 1)


@settings(
    max_examples=examples(8),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    order=st.permutations(range(5)),
    numbers=st.lists(NUMBERS, min_size=5, max_size=5),
    changed=st.integers(0, 4),
    other=NUMBERS,
)
def test_any_order_is_equal_and_any_number_is_told(
    tmp_path: Path,
    order: list[int],
    numbers: list[int],
    changed: int,
    other: int,
) -> None:
    """A number is an immediate, or the initial value of a variable, or a constant."""

    def sources(values: list[int]) -> list[str]:
        return [
            f"// {name}.c\nint {name}_data = {value}; static const int own[2] = {{{value}, 1}};\n"
            f"int {name}_immediate(int i) {{ return i ^ {value}; }}\n"
            f"int {name}_variable(int i) {{ return i + {name}_data; }}\n"
            f"int {name}_constant(int i) {{ return own[i & 1]; }}\n"
            for name, value in zip("abcde", values, strict=True)
        ]

    before = link(tmp_path, *sources(numbers))
    mixed = link(tmp_path, *(sources(numbers)[number] for number in order))
    assert different(before, mixed) == {}
    values = [*numbers]
    values[changed] = other
    after = link(tmp_path, *(sources(values)[number] for number in order))
    name = "abcde"[changed]
    wanted = {"immediate": "instructions", "variable": "data", "constant": "data"}
    told = different(before, after)
    expected = {f"{name}_{what}": why for what, why in wanted.items()}
    assert told == (expected if other != numbers[changed] else {})


PATCHED = r"""// patched.c
int fast(int i) { return i; }
int slow(int i) { return i + 1; }
int key = 7;
int (*target)(int) = slow;
asm(".pushsection .altinstr_replacement, \"ax\"\n replacement: call fast\n .popsection");
int alternative(int i) {
    asm volatile("1: call slow\n .pushsection .altinstructions, \"a\"\n"
        ".long 1b - .\n .long replacement - .\n .long 0x123\n .byte 5, 5\n .popsection");
    return i;
}
int faulting(int i) {
    asm volatile("2: movl (%%rax), %%eax\n jmp 4f\n 3: nop\n 4:\n"
        ".pushsection __ex_table, \"a\"\n .long 2b - .\n .long 3b - .\n .long 9\n .popsection"
        ::: "rax");
    return i;
}
int jumping(int i) {
    asm volatile("5: nopl 0(%%rax)\n .pushsection __jump_table, \"aw\"\n"
        ".long 5b - .\n .long 6f - .\n .quad key - .\n .popsection\n nop\n 6:" ::);
    return i;
}
int calling(int i) {
    asm volatile("7: call slow\n .pushsection .static_call_sites, \"a\"\n"
        ".long 7b - .\n .long target - .\n .popsection" ::);
    return i;
}
int locked(int i) {
    asm volatile(".pushsection .smp_locks, \"a\"\n .long 8f - .\n .popsection\n 8: lock incl key");
    return i;
}
"""
PATCHES = [
    ("call fast", "call slow", {"alternative": "patched"}),
    ("0x123", "0x124", {"alternative": "patched"}),
    (".long 3b - .", ".long 4b - .", {"faulting": "patched"}),
    (".long 9", ".long 8", {"faulting": "patched"}),
    (".long 6f - .", ".long 5b - .", {"jumping": "patched"}),
    (".quad key - .", ".quad key + 1 - .", {"jumping": "patched"}),
    ("int key = 7", "int key = 1", {"jumping": "data", "locked": "data"}),
    ("target)(int) = slow", "target)(int) = fast", {"calling": "data"}),
    (".long 8f - .", "", {"locked": "patched"}),
]


@pytest.mark.parametrize(("old", "new", "expected"), PATCHES, ids=[one[1] for one in PATCHES])
def test_what_the_kernel_patches(
    tmp_path: Path, old: str, new: str, expected: dict[str, str]
) -> None:
    assert PATCHED.count(old) == 1
    before = link(tmp_path, PATCHED)
    assert different(before, link(tmp_path, INSERTED, PATCHED)) == {}
    assert different(before, link(tmp_path, INSERTED, PATCHED.replace(old, new))) == expected


def test_namesakes_are_told_apart(tmp_path: Path) -> None:
    """Two variables of one name in source files of one name."""
    side = "// core.c\nstatic int state = 3;\nint {0}(int i) {{ return state += i; }}\n"
    text = side.format("left"), side.format("right")
    before = link(tmp_path, *text)
    assert different(before, link(tmp_path, INSERTED, *text[::-1])) == {}
    # Both now use one: that is another program, though each function looks the same.
    both = side.format("left") + "int right(int i) { return state += i; }\n"
    assert set(different(before, link(tmp_path, both)).values()) == {"operand"}


def test_numbers_that_the_compiler_gives_are_no_difference(tmp_path: Path) -> None:
    text = "// numbered.c\nint f(int i) { static int count = 3; return count += i; }\n"
    more = text + "int g(int i) { static int count = 4; return count -= i; }\n"
    less = re.sub(
        "^// numbered.c\n",
        "// numbered.c\nint e(void) { static int count; return ++count; }\n",
        more,
    )
    assert different(link(tmp_path, more), link(tmp_path, less)) == {}


def test_strings_within_strings_have_an_end(tmp_path: Path) -> None:
    """The linker merges a string with the end of another one, which may move anywhere."""
    text = (
        '// short.c\nconst char *f(int i) { return i ? "" : "y"; }\n'
        'const char *g(int i) { return i ? "a long string" : "a lengthy"; }\n'
    )
    more = '// more.c\nconst char *h(int i) { return i ? "\\x80\\xff\\x90 any" : "\\x99 day"; }\n'
    before = link(tmp_path, text)
    assert different(before, link(tmp_path, more, text)) == {}
    assert different(before, link(tmp_path, text.replace('"y"', '"g"'))) == {"f": "data"}


def test_the_code_of_other_architectures_is_unknown(tmp_path: Path) -> None:
    """Even of one file: there, an address takes several instructions."""
    elf = link(tmp_path, KERNEL, architecture="aarch64")
    found = verdict(elf, elf)
    assert found and set(found.values()) == {"unknown"}
