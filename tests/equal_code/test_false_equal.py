"""Code that is not equal, though each of its bytes is the same or is part of an address."""

from pathlib import Path

import pytest
from equal_code.linked import different, link, verdict

pytestmark = pytest.mark.build

TEXT = """// forms.c
void leaf(void) {{}}
asm(".data; .balign 16; .globl before, v, spare\\n"
    ".type before, @object; .type v, @object; .type spare, @object\\n"
    "before: .quad 7, 8; .size before, 16\\n v: .quad {number}, 0; .size v, 16\\n"
    "spare: .quad 9; .size spare, 8\\n .text");
asm(".globl f; .type f, @function\\n f: {code}\\n .size f, . - f");
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"ab\0cdefgh", r"ab\0cdefgi"),
        (r"some text\0and numbers", r"some text\0and number5"),
        (r"text\0\0\0\0\0\0\1", r"text\0\0\0\0\0\0\2"),
    ],
)
def test_what_stands_behind_a_zero_in_a_constant(tmp_path: Path, old: str, new: str) -> None:
    text = '// zero.c\nconst char *f(void) {{ return "{}"; }}\n'
    text += 'const char *g(void) {{ return "next"; }}\n'
    before = link(tmp_path, text.format(old))
    assert different(before, link(tmp_path, text.format(old))) == {}
    assert different(before, link(tmp_path, text.format(new))) == {"f": "data"}


def test_what_stands_behind_a_string_is_no_part_of_it(tmp_path: Path) -> None:
    """The next string is another one, though only code that is not compared names it."""
    text = '// two.c\nconst char *f(void) {{ return "first text"; }}\n'
    text += 'const char *g(void) {{ return "{}"; }}\n'
    before = link(tmp_path, text.format("second"))
    after = link(tmp_path, text.format("sec0nd"))
    assert verdict(before, after, "f") == {"f": "equal"}
    assert different(before, after) == {"g": "data"}


NUMBERS = {
    "movabs": "movabs $v, %rax; mov (%rax), %eax; ret",
    "movabs of memory": ".byte 0x48, 0xa1; .quad v; ret",
    "a number": "mov $v, %rax; mov (%rax), %eax; ret",
    "lea and an index": "lea v(%rip), %rax; mov (%rax,%rdi,4), %eax; ret",
    "an index": "mov v(,%rdi,4), %eax; ret",
    "stored": "movq $v, (%rdi); ret",
    "pushed": "push $v; pop %rax; ret",
    "compared": "cmp $v, %rdi; ret",
    "%gs": "mov %gs:v(%rip), %eax; ret",
    "%gs absolute": "mov %gs:v, %eax; ret",
    "%gs and an index": "mov %gs:v(,%rdi,8), %eax; ret",
    "an index that begins at 1": "mov v-8(,%rdi,8), %eax; ret",
    "a pointer that is moved first": "lea v-8(%rip), %rax; mov 8(%rax), %eax; ret",
}


@pytest.mark.parametrize("code", NUMBERS.values(), ids=NUMBERS)
def test_another_content_behind_every_form_of_x86(tmp_path: Path, code: str) -> None:
    def linked(number: int) -> Path:
        text = TEXT.format(number=number, code=code)
        return link(tmp_path, text)

    before = linked(5)
    assert verdict(before, before, "f") == {"f": "equal"}
    assert verdict(before, linked(6), "f") in ({"f": "data"}, {"f": "unknown"})
