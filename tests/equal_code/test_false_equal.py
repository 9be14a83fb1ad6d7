"""Code that is not equal, though each of its bytes is the same or is part of an address."""

from pathlib import Path

import pytest
from equal_code.linked import different, link, verdict

pytestmark = [pytest.mark.build, pytest.mark.build]

# Of arm64: how code reaches a variable or constant other than by two neighbouring instructions.
FORMS = {
    "only a backward branch": """
        adrp x0, v
        b 2f
     1: ldr w0, [x0, :lo12:v]
        ret
     2: cbnz w3, 1b
        ret""",
    "anchor behind a backward branch": """
        adrp x0, before
        add x0, x0, :lo12:before
        b 2f
     1: ldr w0, [x0, v - before]
        ret
     2: cbnz w3, 1b
        ret""",
    "a vector of the same number": """
        adrp x0, v
        movi v0.4s, #0
        ldr q1, [x0, :lo12:v]
        ret""",
    "a vector that is loaded": """
        adrp x0, v
        ldr q0, [x1]
        ldp q0, q2, [x1]
        ldr w0, [x0, :lo12:v]
        ret""",
    "a comparison's flags": """
        adrp x2, v
        cmp w5, #3
        ccmp w5, #7, #2, ne
        fcmp d2, d3
        ldr w0, [x2, :lo12:v]
        ret""",
    "a call that changes nothing": """
        stp x29, x30, [sp, #-16]!
        adrp x5, v
        bl leaf
        ldr w0, [x5, :lo12:v]
        ldp x29, x30, [sp], #16
        ret""",
    "through the stack": """
        sub sp, sp, #32
        adrp x0, before
        add x0, x0, :lo12:before
        stp x1, x0, [sp, #8]
        bl leaf
        ldr x3, [sp, #16]
        ldr w0, [x3, v - before]
        add sp, sp, #32
        ret""",
    "a choice": """
        adrp x0, spare
        adrp x1, before
        add x0, x0, :lo12:spare
        add x1, x1, :lo12:before
        cmp w3, #0
        csel x0, x0, x1, eq
        ldr w0, [x0, v - before]
        ret""",
    "a number in parts": """
        movz x1, #:abs_g3:v
        movk x1, #:abs_g2_nc:v
        movk x1, #:abs_g1_nc:v
        movk x1, #:abs_g0_nc:v
        ldr w0, [x1]
        ret""",
    "a pointer between the instructions": """
        ldr x1, 3f
        ldr w0, [x1]
        ret
     3: .quad v""",
    "beside itself": """
        adr x1, v
        ldr w0, [x1]
        ret""",
    "an index that begins at 1": """
        adrp x0, v - 8
        add x0, x0, :lo12:v - 8
        ldr x0, [x0, x1, lsl #3]
        ret""",
    "an exclusive access": """
        adrp x0, v
        add x0, x0, :lo12:v
        ldxr w1, [x0]
        stxr w2, w1, [x0]
        ret""",
}
TEXT = """// forms.c
void leaf(void) {{}}
asm(".data; .balign 16; .globl before, v, spare\\n"
    ".type before, @object; .type v, @object; .type spare, @object\\n"
    "before: .quad 7, 8; .size before, 16\\n v: .quad {number}, 0; .size v, 16\\n"
    "spare: .quad 9; .size spare, 8\\n .text");
asm(".globl f; .type f, @function\\n f: {code}\\n .size f, . - f");
"""


def forms(folder: Path, code: str, number: int) -> Path:
    """A file with a function of these instructions; ``v`` has the number."""
    quoted = "\\n".join(line.strip() for line in code.splitlines())
    return link(
        folder,
        "aarch64",
        TEXT.format(number=number, code=quoted),
        flags=["-Wl,-Tdata=0xffff800080010000"],
    )


@pytest.mark.parametrize("code", FORMS.values(), ids=FORMS)
def test_another_content_behind_every_form_of_address(tmp_path: Path, code: str) -> None:
    before, same = forms(tmp_path, code, 5), forms(tmp_path, code, 5)
    assert verdict(before, same, "f") == {"f": "equal"}
    assert different(before, forms(tmp_path, code, 6)) == {"f": "data"}


UNRESOLVED = {
    "stored": "adrp x0, v\n str x0, [x1]\n ret",
    "stored behind the stack": "adrp x0, v\n str x0, [sp, #-16]!\n ldr x0, [sp], #16\n ret",
    "with a register": "adrp x0, v\n ldr w0, [x0, x1]\n ret",
    "with an index": "adrp x0, v\n add x0, x0, x1\n ldr w0, [x0, :lo12:v]\n ret",
    "a pair": "adrp x0, v\n ldp w0, w1, [x0, #8]\n ret",
    "returned": "adrp x0, v\n ret",
}  # fmt: skip


@pytest.mark.parametrize("code", UNRESOLVED.values(), ids=UNRESOLVED)
def test_a_page_of_which_nothing_tells_the_use_is_unknown(tmp_path: Path, code: str) -> None:
    before = forms(tmp_path, code, 5)
    assert verdict(before, before, "f") == {"f": "unknown"}
    assert different(before, forms(tmp_path, code, 6)) == {"f": "unknown"}


def test_a_part_that_is_seldom_executed_gets_what_the_function_holds(tmp_path: Path) -> None:
    """GCC puts it into a section of its own (``f.cold``) with the registers as they are."""
    code = """
        adrp x3, v
        cbnz w0, f.cold
     9: ret
        .size f, . - f
        .section .text.unlikely, \\"ax\\"
        .type f.cold, @function
     f.cold: ldr w0, [x3, :lo12:v]
        b 9b
        .size f.cold, . - f.cold
        .text
        .globl g; .type g, @function
     g: ret
        .size g, . - g
        .type f, @function"""
    text = TEXT.replace(" .size f, . - f", "")

    def linked(number: int) -> Path:
        quoted = "\\n".join(line.strip() for line in code.splitlines())
        return link(tmp_path, "aarch64", text.format(number=number, code=quoted))

    before = linked(5)
    assert verdict(before, linked(5)).keys() == {"leaf", "f", "f.cold", "g"}
    assert different(before, linked(5)) == {}
    assert different(before, linked(6)) == {"f.cold": "data"}


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"ab\0cdefgh", r"ab\0cdefgi"),
        (r"some text\0and numbers", r"some text\0and number5"),
        (r"text\0\0\0\0\0\0\1", r"text\0\0\0\0\0\0\2"),
    ],
)
def test_what_stands_behind_a_zero_in_a_constant(
    tmp_path: Path, architecture: str, old: str, new: str
) -> None:
    text = '// zero.c\nconst char *f(void) {{ return "{}"; }}\n'
    text += 'const char *g(void) {{ return "next"; }}\n'
    before = link(tmp_path, architecture, text.format(old))
    assert different(before, link(tmp_path, architecture, text.format(old))) == {}
    assert different(before, link(tmp_path, architecture, text.format(new))) == {"f": "data"}


def test_what_stands_behind_a_string_is_no_part_of_it(tmp_path: Path) -> None:
    """The next string is another one, though only code that is not compared names it."""
    text = '// two.c\nconst char *f(void) {{ return "first text"; }}\n'
    text += 'const char *g(void) {{ return "{}"; }}\n'
    before = link(tmp_path, "x86_64", text.format("second"))
    after = link(tmp_path, "x86_64", text.format("sec0nd"))
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
        return link(tmp_path, "x86_64", text)

    before = linked(5)
    assert verdict(before, before, "f") == {"f": "equal"}
    assert verdict(before, linked(6), "f") in ({"f": "data"}, {"f": "unknown"})
