"""Layouts from DWARF and BTF, against what the compiler says of its own types, and gdb of a
kernel's."""

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from layout.small_types import Made, built, told
from support import need_program

from profdiff.base.errors import InputError
from profdiff.symbolization.type_layout import layouts

pytestmark = pytest.mark.build

FLAGS = [
    ("-gdwarf-4",),
    ("-gdwarf-5",),
    ("-gdwarf-5", "-gz=zlib"),
    ("-gdwarf-5", "-gdwarf64"),
    ("-gdwarf-5", "-fdebug-types-section"),
    ("-gdwarf-3", "-gstrict-dwarf"),
    ("-gbtf",),
]
NAMED = """
typedef struct { int counter; } atomic_t;
struct inner { char a; long b; };
struct outer {
	const volatile struct inner *first;
	struct { union { atomic_t count; unsigned long flags:5, :3, more:8; }; };
	struct inner second, third[3];
	void (*call)(int);
	char *names[4];
	char text[];
};
union both { struct outer whole; long words[2]; };
struct outer one; union both other; atomic_t number;
int main(void) { return one.third[0].a + number.counter + other.words[0]; }
"""


@pytest.mark.parametrize("flags", FLAGS, ids=lambda flags: "".join(flags))
def test_offsets_and_sizes_are_the_compilers(flags: tuple[str, ...], tmp_path: Path) -> None:
    need_program("gcc")
    made = Made(seed=len(flags[0]) + len(flags), structs=60)
    program = built(tmp_path, made.source(), *flags)
    truth = told(program)
    names = list(made.fields)
    source, found = layouts(program, names)
    assert source == ("BTF" if "-gbtf" in flags else "DWARF")
    checked = 0
    for name, layout in zip(names, found, strict=True):
        assert layout is not None
        assert 8 * layout.size == truth[name, "-"][1]
        known = {one.name: one for one in layout.fields}
        assert set(made.fields[name]) | set(made.bits[name]) == set(known)
        for field in [*made.fields[name], *made.bits[name]]:
            one = known[field]
            assert (one.bit_offset, one.bit_size) == truth[name, field], (name, field)
            assert one.is_bit_field == (field in made.bits[name])
            checked += 1
    assert checked > 150


@pytest.mark.parametrize("flag", ["-gdwarf-5", "-gbtf"])
def test_names_members_and_types(flag: str, tmp_path: Path) -> None:
    need_program("gcc")
    program = built(tmp_path, NAMED, flag)
    asked = ["outer", "both", "atomic_t", "outer.second", "outer.count", "nobody", "outer.gone"]
    _, found = layouts(program, [*asked, "outer.call", "outer"])
    outer, both, typedef, second, count = found[:5]
    assert found[5:8] == [None] * 3
    assert found[8] == outer
    assert outer and both and typedef and second and count
    assert (outer.kind, both.kind, typedef.kind) == ("struct", "union", "struct")
    types = {one.name: one.type for one in outer.fields}
    assert types["first"].endswith("struct inner *")
    assert types["third"] == "struct inner[3]"
    assert types["call"] == "function *"
    assert types["names"] == "char *[4]"
    assert types["count"] == "atomic_t"
    assert next(one for one in outer.fields if one.name == "text").bit_size == 0
    # A member's fields lie where they lie in the whole.
    assert (second.size, second.start) == (16, 16)
    assert [one.bit_offset for one in second.fields] == [8 * 16, 8 * 24]
    assert (count.size, count.start, [one.name for one in count.fields]) == (4, 8, ["counter"])


def test_the_definition_that_most_files_use_is_shown(tmp_path: Path) -> None:
    need_program("gcc")
    files = []
    for number, body in enumerate(["int a, b;", "int a, b;", "int a;", "long c[4];"]):
        line = "\n" * (number == 3)
        file = tmp_path / f"{number}.c"
        file.write_text(f"{line}struct request {{ {body} }}; struct request one_{number};")
        files.append(file)
    program = tmp_path / "all.o"
    subprocess.run(["gcc", "-g", "-shared", "-o", program, *files], check=True)
    (found,) = layouts(program, ["request"])[1]
    assert found and (found.size, found.others) == (8, 2)


def test_files_without_types_and_none(tmp_path: Path) -> None:
    need_program("gcc")
    program = built(tmp_path, NAMED, "-g0")
    with pytest.raises(InputError, match="it has no DWARF and no BTF"):
        layouts(program, ["outer"])
    with pytest.raises(InputError, match="cannot read"):
        layouts(tmp_path / "nothing", ["outer"])
    (tmp_path / "btf").write_bytes(b"\x9f\xeb\x01\x00" + b"\xff" * 40)
    with pytest.raises(InputError, match="damaged"):
        layouts(tmp_path / "btf", ["outer"])


@pytest.mark.parametrize("flag", ["-gdwarf-5", "-gbtf"])
def test_damage_is_an_error_or_an_answer(flag: str, tmp_path: Path) -> None:
    """Neither a panic nor a hang: what is damaged may still be read, wrongly."""
    need_program("gcc")
    whole = built(tmp_path, Made(7, 20).source(), flag).read_bytes()
    names = [f"made_{number}" for number in range(20)]
    chance, refused = random.Random(3), 0
    broken = tmp_path / "broken"
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 4, 60])):
            data[chance.randrange(len(data) // 4, len(data))] = chance.randrange(256)
        broken.write_bytes(data[: chance.choice([len(data)] * 9 + [chance.randrange(len(data))])])
        try:
            layouts(broken, names)
        except InputError as error:
            refused += 1
            assert "\n" not in str(error)
    assert 0 < refused < 400


def test_a_kernels_layouts_are_those_of_gdb(
    fixture_vmlinux: Callable[[str], Path], tmp_path: Path
) -> None:
    gdb, vmlinux = need_program("gdb"), fixture_vmlinux("v7.1.8")
    names = ["mm_struct", "vm_area_struct", "task_struct", "page", "folio", "file", "inode"]
    found = layouts(vmlinux, names)[1]
    asked: list[tuple[str, str, int]] = []
    for name, layout in zip(names, found, strict=True):
        assert layout is not None
        plain = [one for one in layout.fields if one.name and not one.is_bit_field]
        asked += [(name, one.name, one.bit_offset // 8) for one in plain]
        asked.append((name, "", layout.size))
    assert len(asked) == 400
    # gdb looks for each struct once, which takes it longer than all the fields.
    lines = ["python"]
    lines += [f"{name} = gdb.parse_and_eval('(struct {name} *) 0')" for name in names]
    lines += [
        f"print('told', int({name}['{field}'].address))"
        if field
        else f"print('told', {name}.dereference().type.sizeof)"
        for name, field, _ in asked
    ]
    script = tmp_path / "layouts.gdb"
    script.write_text("\n".join([*lines, "end", ""]))
    done = subprocess.run(
        [gdb, "-nx", "-batch", "-x", script, vmlinux], capture_output=True, text=True
    )
    said = [int(number) for number in re.findall(r"(?m)^told (\d+)$", done.stdout)]
    assert said == [offset for _, _, offset in asked]
