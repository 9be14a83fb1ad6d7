"""One program whose file is damaged or of a kind that is not read never costs the recording."""

import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from perf_data.test_function_names import recorded, rows, shared
from perf_data.writer import Writer
from support import need_program, profdiff

SOURCE = """
volatile long x;
__attribute__((noinline)) void first(long n) { for (long i = 0; i < n; i++) x += i; }
__attribute__((noinline)) void second(long n) { for (long i = 0; i < 2 * n; i++) x += i; }
int main(void) { for (int j = 0; j < 3000; j++) { first(10000); second(10000); } return 0; }
"""
Damage = Callable[[Path], None]


def section(file: Path, name: str) -> tuple[int, int]:
    """Where a section lies in the file."""
    text = subprocess.run(["readelf", "-SW", file], capture_output=True, text=True, check=True)
    found = re.search(rf"{re.escape(name)} +\w+ +\w+ +(\w+) +(\w+)", text.stdout)
    assert found, name
    return int(found[1], 16), int(found[2], 16)


def written(file: Path, at: int, data: bytes) -> None:
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(data)


def version_9(file: Path) -> None:
    written(file, section(file, ".debug_info")[0] + 4, struct.pack("<H", 9))


def garbage(name: str) -> Damage:
    def damage(file: Path) -> None:
        start, size = section(file, name)
        written(file, start, b"\xff" * size)

    return damage


def packed(file: Path) -> None:
    subprocess.run(["objcopy", "--compress-debug-sections=zlib", file], check=True)
    start, size = section(file, ".debug_info")
    written(file, start + 24, b"\xff" * (size - 24))


def empty_abbreviations(file: Path) -> None:
    written(file, section(file, ".debug_abbrev")[0], b"\0")


def without_split_file(file: Path) -> None:
    assert not file.with_suffix(".dwo").exists()


def ends_before_sections(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: section(file, ".debug_info")[0]])


def of_32_bits(file: Path) -> None:
    written(file, 4, b"\1")


NAMED: dict[str, Damage] = {
    "version-9": version_9,
    "info": garbage(".debug_info"),
    "abbreviations": garbage(".debug_abbrev"),
    "no-abbreviations": empty_abbreviations,
    "lines": garbage(".debug_line"),
    "packed": packed,
    "split": without_split_file,
}
NAMELESS: dict[str, Damage] = {"cut": ends_before_sections, "32-bit": of_32_bits}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("gcc", "readelf", "objcopy"):
        need_program(name, "gcc" if name == "gcc" else "binutils")
    folder = tmp_path_factory.mktemp("program")
    (folder / "spin.c").write_text(SOURCE)
    flags = ["-g", "-O1", "-Wl,--build-id=none"]
    subprocess.run(["gcc", *flags, "spin.c", "-o", "spin"], cwd=folder, check=True)
    subprocess.run(["gcc", *flags, "-gsplit-dwarf", "-c", "spin.c"], cwd=folder, check=True)
    subprocess.run(["gcc", *flags, "spin.o", "-o", "split"], cwd=folder, check=True)
    return folder / "spin"


@pytest.fixture(scope="module")
def recording(program: Path) -> Path:
    """What it says of the program: first and second."""
    return recorded(program)


@pytest.mark.build
@pytest.mark.slow
@pytest.mark.parametrize("kind", [*NAMED, *NAMELESS])
def test_a_file_that_cannot_be_read_does_not_cost_the_others(
    kind: str, program: Path, recording: Path, tmp_path: Path
) -> None:
    good = rows(recording)[0]
    copy = tmp_path / "root" / program.relative_to("/")
    copy.parent.mkdir(parents=True)
    shutil.copyfile(program.with_name("split") if kind == "split" else program, copy)
    (NAMED | NAMELESS)[kind](copy)
    found = profdiff("diff", f"a={recording}", f"b={recording}", "--symfs", f"b={tmp_path}/root")
    shown = " ".join(found.stdout.split())
    (own,) = rows(recording, roots=[tmp_path / "root"])
    told = "not all of these files could be read: spin: " in shown
    assert told == (kind != "split")
    if kind in NAMED:
        assert {name: own[name] for name in ("first", "second")} == {
            name: good[name] for name in ("first", "second")
        }
    else:
        assert "unresolved: unreadable" in shown
        # A sample in a library, which the root folder has not got, is lost, too.
        assert not own.keys() & {"first", "second"}
        assert own.items() <= good.items()


@pytest.mark.build
@pytest.mark.slow
@pytest.mark.parametrize("kind", NAMELESS)
def test_what_cannot_be_read_is_no_other_build(kind: str, tmp_path: Path) -> None:
    """The recording has its build id, and the file cannot tell that it has another one."""
    (tmp_path / "spin.c").write_text(SOURCE)
    flags = ["-g", "-O1", "-Wl,--build-id"]
    subprocess.run(["gcc", *flags, "spin.c", "-o", "spin"], cwd=tmp_path, check=True)
    file = recorded(tmp_path / "spin")
    assert "first" in rows(file)[0]
    whole = (tmp_path / "spin").read_bytes()
    NAMELESS[kind](tmp_path / "spin")
    shown = " ".join(profdiff("diff", f"a={file}", f"b={file}").stdout.split())
    assert "unresolved: unreadable" in shown
    assert "not all of these files could be read: spin: " in shown
    assert "other-build" not in shown
    (tmp_path / "spin").write_bytes(whole)
    assert "first" in profdiff("diff", f"a={file}", f"b={file}").stdout


@pytest.mark.build
@pytest.mark.slow
def test_a_damaged_file_of_what_was_stripped_off(
    program: Path, tmp_path: Path, recording: Path
) -> None:
    """Its symbols serve, or else those of the program."""
    copy = tmp_path / "root" / program.relative_to("/")
    copy.parent.mkdir(parents=True)
    shutil.copyfile(program, copy)
    debug = copy.with_suffix(".debug")
    subprocess.run(["objcopy", "--only-keep-debug", copy, debug], check=True)
    subprocess.run(["strip", "--strip-debug", copy], check=True)
    version_9(debug)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", copy], check=True)
    assert {"first", "second"} <= {*rows(recording, roots=[tmp_path / "root"])[0]}


def test_code_of_a_jit_has_the_names_of_its_symbols() -> None:
    folder = shared("user-dwarf-unreadable")
    (own,) = rows(folder / "jit.perf.data", roots=[folder / "symfs"])
    assert max(own.values()) == own["JS:*spin /tmp/dwdemo/n.js:1:14"]
    shown = profdiff(
        "diff", *[f"{n}={folder}/jit.perf.data" for n in "ab"], "--symfs", folder / "symfs"
    ).stdout
    assert "not all of these files could be read: jitted-5367-" in " ".join(shown.split())
    assert "JS:*spin" in shown


@pytest.mark.build
def test_a_deleted_file_is_known_by_its_build_id(program: Path, tmp_path: Path) -> None:
    """As the kernel names it after an update; its name is the one that it had."""
    copy = tmp_path / "spin"
    subprocess.run(
        ["gcc", "-O1", "-Wl,--build-id=0x" + "5a" * 20, program.parent / "spin.c", "-o", copy],
        check=True,
    )
    symbols = subprocess.run(["nm", copy], capture_output=True, text=True, check=True).stdout
    first = int(next(line.split()[0] for line in symbols.splitlines() if " first" in line), 16)
    for number, (path, build_id) in enumerate(
        [
            (f"{copy}", b"\x5a" * 20),
            (f"{copy} (deleted)", b"\x5a" * 20),
            (f"{copy} (deleted)", b"\xa5" * 20),
            (f"{copy} (deleted)", b""),
        ]
    ):
        data = Writer()
        data.comm(7, b"spin", 0)
        data.mmap2(7, 0x40_0000, 0x10_0000, 0, path.encode(), 1, build_id=build_id)
        data.sample(0x40_0000 + first, [], time=2, period=5)
        (tmp_path / f"{number}.data").write_bytes(data.file())
    files = [tmp_path / f"{number}.data" for number in range(4)]
    assert "first (spin)" in profdiff("diff", files[0]).stdout
    both = profdiff("diff", *files[:2]).stdout
    assert "first (spin)" in both
    assert "vanished" not in both
    for other in files[2:]:
        assert "first" not in profdiff("diff", other).stdout
