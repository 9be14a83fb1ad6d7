"""Types of C whose layout the compiler itself says: a program prints what offsetof() and sizeof()
are, and which bits a bit field has."""

import random
import subprocess
from pathlib import Path

_SCALARS = ("char", "short", "int", "long", "void *", "unsigned char", "double", "_Bool")


class Made:
    """``text``: the declarations; ``fields``: of each struct, names that C can take the offset of;
    ``bits``: names of bit fields."""

    def __init__(self, seed: int, structs: int) -> None:
        self._random = random.Random(seed)
        self._number = 0
        self.fields: dict[str, list[str]] = {}
        self.bits: dict[str, list[str]] = {}
        parts = []
        for number in range(structs):
            name = f"made_{number}"
            self.fields[name], self.bits[name] = [], []
            body = self._body(name, 0)
            packed = self._random.choice(["", "", " __attribute__((packed))"])
            aligned = self._random.choice(["", "", " __attribute__((aligned(64)))"])
            parts.append(f"struct {name} {{ {body} }}{packed}{aligned};")
        self.text = "\n".join(parts)

    def _name(self) -> str:
        self._number += 1
        return f"f{self._number}"

    def _body(self, struct: str, depth: int) -> str:
        parts = []
        for _ in range(self._random.randint(1, 7)):
            kind = self._random.randrange(10)
            name = self._name()
            if kind < 5:
                self.fields[struct].append(name)
                parts.append(f"{self._random.choice(_SCALARS)} {name};")
            elif kind == 5:
                self.fields[struct].append(name)
                parts.append(f"short {name}[{self._random.randint(1, 5)}][3];")
            elif kind == 6:
                self.bits[struct].append(name)
                parts.append(f"unsigned int {name} : {self._random.randint(1, 20)};")
            elif depth < 3:
                word = self._random.choice(["struct", "union"])
                if kind == 7:
                    self.fields[struct].append(name)
                    parts.append(f"{word} {{ long a; char b; }} {name};")
                else:
                    parts.append(f"{word} {{ {self._body(struct, depth + 1)} }};")
        if not parts:
            self.fields[struct].append(self._name())
            parts.append(f"int {self.fields[struct][-1]};")
        return " ".join(parts)

    def source(self) -> str:
        """A program that prints lines of struct, field, offset and size, in bits."""
        lines = []
        for struct in self.fields:
            of = f"struct {struct}"
            lines.append(f'printf("{struct} - 0 %zu\\n", 8 * sizeof({of}));')
            for field in self.fields[struct]:
                told = f"8 * offsetof({of}, {field}), 8 * sizeof(one_{struct}.{field})"
                lines.append(f'printf("{struct} {field} %zu %zu\\n", {told});')
            lines += [
                f"memset(&one_{struct}, 0, sizeof one_{struct}); one_{struct}.{field} = -1; "
                f'told("{struct} {field}", &one_{struct}, sizeof one_{struct});'
                for field in self.bits[struct]
            ]
        objects = "\n".join(f"struct {struct} one_{struct};" for struct in self.fields)
        return f"""
#include <stddef.h>
#include <stdio.h>
#include <string.h>
{self.text}
{objects}
static void told(const char *name, const unsigned char *bytes, size_t size)
{{
	size_t first = 0, number = 0;
	for (size_t bit = 0; bit < 8 * size; bit++)
		if (bytes[bit / 8] >> bit % 8 & 1) {{
			if (!number++)
				first = bit;
		}}
	printf("%s %zu %zu\\n", name, first, number);
}}
int main(void)
{{
	{" ".join(lines)}
	return 0;
}}
"""


def built(folder: Path, source: str, *flags: str) -> Path:
    """A program of ``source``."""
    (folder / "types.c").write_text(source)
    program = folder / f"types{''.join(flags)}"
    command = ["gcc", *flags, "-w", "-o", program, folder / "types.c"]
    subprocess.run(command, check=True)
    return program


def told(program: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """What a program of ``Made`` prints: by struct and field, "-" for the whole."""
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in printed.splitlines()]
    return {(one, field): (int(offset), int(size)) for one, field, offset, size in rows}
