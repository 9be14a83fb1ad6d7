"""Documents say what the code does: fields, constants, options, links."""

import ast
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner
from support import ROOT, profdiff

from profdiff.cli import cli
from profdiff.collectors import records, registry
from profdiff.collectors.architecture import ARM64, RISCV64, X86_64
from profdiff.collectors.guest import delivery as guest_channel
from profdiff.collectors.guest.boot import BASE_APPEND
from profdiff.commands import COMMANDS
from profdiff.session import manifest
from profdiff.symbolization._native import reasons
from profdiff.topics.functions import marks
from profdiff.views.claims import checklist
from profdiff.views.document import SCHEMA

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])


def table(title: str) -> list[str]:
    """First column of the table under a heading of docs/session.md."""
    text = (ROOT / "docs/session.md").read_text()
    section = re.split(rf"^#+ {re.escape(title)}$", text, flags=re.MULTILINE)[1]
    section = re.split(r"^#", section, flags=re.MULTILINE)[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


@pytest.mark.parametrize(
    ("title", "struct"),
    [
        ("manifest.json", manifest.Manifest),
        ("workload", manifest.Workload),
        ("points", manifest.Point),
        ("guest", manifest.Guest),
        ("kernels", manifest.Kernel),
        ("runs", manifest.Run),
    ],
)
def test_every_field_of_the_manifest_is_documented(
    title: str, struct: type[msgspec.Struct]
) -> None:
    assert sorted(table(title)) == sorted(struct.__struct_fields__)


def test_failure_kinds_and_run_files_are_documented() -> None:
    text = (ROOT / "docs/session.md").read_text()
    known = registry.recording().values()
    kinds = [*records.FAILURES, *(kind for one in known for kind in one.failures)]
    members = [one.called.get(name, name) for one in known for name in one.leaves]
    for word in [*kinds, *members, *guest_channel.MEMBERS, manifest.SCHEMA]:
        assert f"`{word}`" in text, word


def test_the_guests_command_line_is_documented() -> None:
    text = (ROOT / "docs/exact-collector.md").read_text()
    for word in BASE_APPEND.split():
        if not word.startswith("panic="):
            assert word in text, word


def test_marks_are_the_same_everywhere() -> None:
    def first_mark(architecture: str) -> int:
        file = ROOT / f"collectors/tcg-plugin/core/src/architecture/{architecture}.rs"
        found = re.search(r"FIRST_MARK: u32 = (0x[\d_a-f]+)", file.read_text())
        assert found
        return int(found[1].replace("_", ""), 16)

    nopl, movz, slti = map(first_mark, ("x86_64", "arm64", "riscv64"))
    header = (ROOT / "collectors/guest/profdiff.h").read_text()
    agent = (ROOT / "collectors/guest/agent/run.c").read_text()
    # All but the last digit, which the marks have in their order.
    told = re.findall(r'(?:nopl |#|zero, )(0x\w+)" digit', header)
    assert [int(f"{one}1", 16) for one in told] == [nopl, movz, slti]
    marks = r'#define PROFDIFF_(?:START|STOP|OP)\(\) PROFDIFF_MARK_\("(\d)"\)'
    assert re.findall(marks, header) == ["1", "2", "5"]
    marks = r'#define COMMAND_(?:START|STOP)\(\) PROFDIFF_MARK_\("(\d)"\)'
    assert re.findall(marks, agent) == ["3", "4"]
    text = (ROOT / "docs/exact-collector.md").read_text()
    assert f"nopl {nopl:#x}(%rax)" in text
    assert f"movz xzr, #{movz:#x}, lsl #48" in text
    assert f"slti zero, zero, {slti:#x}" in text
    # The bytes that are looked for in a program: nopl with a 32-bit displacement; movz (Arm ARM,
    # C6.2: opc 10, hw 11) to register 31.
    assert X86_64.marks == tuple(b"\x0f\x1f\x80" + struct.pack("<I", nopl + n) for n in (0, 1))
    assert ARM64.marks == tuple(struct.pack("<I", 0xD2E0_001F | movz + n << 5) for n in (0, 1))
    assert RISCV64.marks == tuple(struct.pack("<I", 0x2013 | slti + n << 20) for n in (0, 1))


def test_every_statistic_and_reason_is_told() -> None:
    """What a recording's reader counts is remarked on, or is the samples themselves."""
    source = (ROOT / "profdiff/profile/sampled_profile.py").read_text()
    rust = (ROOT / "symbolization/perf-data/src/statistics.rs").read_text()
    for field in re.findall(r"^    pub (\w+):", rust, re.MULTILINE):
        # Where nothing was mapped, the frame itself says so: it is unresolved.
        assert f'"{field}"' in source or field == "unmapped", field
    names = ("symbolization", "perf-data")
    text = "".join((ROOT / f"docs/{name}.md").read_text() for name in names)
    for reason in reasons()[1:]:
        assert f"`{reason}`" in text, reason


def test_marks_of_sampled_rows_are_explained() -> None:
    text = (ROOT / "docs/perf.md").read_text()
    for mark in marks.LEGEND:
        assert f"| `{mark}` |" in text
    command = (ROOT / "collectors/perf/command.py").read_text()
    for period in re.findall(r"= ([\d_]+), ([\d_]+)$", command, re.MULTILINE):
        for number in period:
            assert f"{int(number):,}" in text


def test_the_reports_schema_is_named() -> None:
    assert SCHEMA in (ROOT / "docs/report-data.md").read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
        assert (document.parent / target).exists(), target


def test_every_document_is_on_the_map() -> None:
    """docs/README.md lists all of them, each once."""
    targets = re.findall(r"^- \[[^\]]+\]\(([^)#:]+)\)", (ROOT / "docs/README.md").read_text(), re.M)
    listed = [(ROOT / "docs" / target).resolve() for target in targets]
    assert len(listed) == len(set(listed))
    schemas = set(ROOT.glob("profdiff/*.schema.json"))
    assert {*DOCUMENTS, *schemas} - {*listed} == {ROOT / "README.md", ROOT / "docs/README.md"}


# Behind a prompt, another command or a quote; "what profdiff can answer" is what one prints.
SHOWN = re.compile(r"(?:^ *|[$:&] |[/'(]|parallel )profdiff ((?:[a-z]+|--[a-z]+)(?= |$).*)")


def shown_commands(text: str) -> Iterator[list[str]]:
    """The words of each command of profdiff's that a document shows, up to its workload."""
    fences = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    code = [line for one in fences for line in one.replace("\\\n", " ").splitlines()]
    code += re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
    for line in code:
        for found in re.findall(
            r"(?:^ *|[$:&] |[/'(]|parallel )profdiff ((?:[a-z]+|--[a-z]+)(?= |$).*)", line
        ):
            words = re.split(r" -- | [|;&#]|; |&&", found)[0]
            yield re.sub(r"[\[\]'\"]", " ", words).split()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_that_are_shown_exist(document: Path) -> None:
    """With their options."""
    for words in shown_commands(document.read_text()):
        command: click.Command = cli
        for word in words:
            if not isinstance(command, click.Group) or not word.isalpha() or word.isupper():
                break
            found = command.get_command(click.Context(command), word)
            assert found, f"profdiff {' '.join(words)}"
            command = found
        known = {one for param in command.params for one in (*param.opts, *param.secondary_opts)}
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(words)):
            assert option in {*known, "--help"}, f"profdiff {' '.join(words)}: {option}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_scripts_that_are_shown_exist(document: Path) -> None:
    for name in re.findall(r"(?<![\w/])scripts/([a-z]+)\b(?![/-])", document.read_text()):
        assert (ROOT / "scripts" / name).exists(), name


def rooms() -> list[tuple[list[Path], list[str]]]:
    """The rows of docs/design.md's Rooms: their folders, and the names of modules in them."""
    text = (ROOT / "docs/design.md").read_text()
    section = text[text.index("## Rooms") :]
    rows = []
    for line in section.splitlines():
        if line.startswith("| `"):
            cells = [re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:3]]
            first = ROOT / cells[0][0]
            folders = [first, *(first.parent / name for name in cells[0][1:])]
            names = [name for name in cells[1] if re.fullmatch(r"[a-z][\w./-]*", name)]
            rows.append((folders, names))
    return rows


def test_modules_that_the_design_names_exist() -> None:
    assert len(rooms()) > 10
    for folders, names in rooms():
        assert all(folder.exists() for folder in folders), folders
        # A row also names folders beside its own: the plugin's.
        places = [*folders, *(ROOT / name for name in names if (ROOT / name).is_dir())]
        for name in names:
            # A path begins at the repository's root, or beside the row's folders.
            paths = [ROOT / name, folders[0].parent / name] if "/" in name else []
            for place in places:
                paths += [*place.rglob(name.rstrip("/")), *place.rglob(f"{name}.py")]
            found = [path for path in paths if path.exists()]
            assert found, f"{name} is not in {', '.join(map(str, folders))}"


def test_documents_are_short() -> None:
    """``docs`` has at most 50,000 words, and a cell of the design 30."""
    texts = [path.read_text() for path in ROOT.glob("docs/**/*.md")]
    assert sum(len(text.split()) for text in texts) <= 50_000
    for line in (ROOT / "docs/design.md").read_text().splitlines():
        if line.startswith("| "):
            assert all(len(cell.split()) <= 30 for cell in line.split("|")), line


def test_options_in_the_readme_exist() -> None:
    readme = (ROOT / "README.md").read_text()
    runner = CliRunner()
    helps = "".join(
        runner.invoke(cli, [*command, "--help"]).output
        for command in ([], *([name] for name in COMMANDS))
    )
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", readme)) - {"--help"}
    assert options
    for option in options:
        assert option in helps, option


def test_every_option_of_mail_is_documented() -> None:
    text = (ROOT / "docs/mail.md").read_text()
    usage = CliRunner().invoke(cli, ["mail", "--help"]).output
    options = set(re.findall(r"(?m)^  (?:-\w, )?(--[a-z][a-z-]+)", usage)) - {"--help"}
    assert len(options) > 15
    for option in options:
        assert re.search(rf"`{option}[ `]", text), option
    # All items of the checklist, in its order.
    section = text[text.index("## The evidence") :]
    found = re.findall(r"(?m)^\| ([^|`]+) \| ", section)[1:]
    assert found == [text for text, _ in checklist.ITEMS]


@pytest.mark.guest
def test_the_readmes_table_is_what_is_printed(
    old_kernel: Path, new_kernel: Path, tmp_path: Path
) -> None:
    """Its rows, by its command; timer ticks are part of totals, and one more file in the guest
    moves them."""
    readme = (ROOT / "README.md").read_text()
    block = readme[readme.index("instructions per op") :]
    rows = block[: block.index("\n---")].splitlines()
    assert len(rows) == 7
    kernels = [f"--kernel=v6.12.107={old_kernel}", f"--kernel=v6.18.15={new_kernel}"]
    assert "--ops 40 -- ./region-size.c 4000 '{ops}'" in readme
    program = ROOT / "examples/mprotect-pte-batching/region-size.c"
    command = ["--ops=40", "--", program, "4000", "{ops}"]
    profdiff("record", *kernels, "-o", tmp_path / "s.profdiff", *command)
    printed = profdiff("report", tmp_path / "s.profdiff", "--top", "5").stdout
    for row in rows:
        known = re.sub(r" +[+-][0-9,.]+  (?=\w+$)", " ", row)
        assert known in re.sub(r" +[+-][0-9,.]+  (?=\w+\n)", " ", printed), row


# "Of a suite, show ..." and "is no suite": a native writes "For a suite" and "is not a suite".
PARTITIVE = re.compile(r"(?:^|[.:|(] ?|\"\"\")\**Of [a-z\[`]")
NEGATION = re.compile(r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer\b|more\b|other\b)")


def unlike_a_native(text: str) -> list[str]:
    """The lines with a partitive opener, or with ``is no`` before a noun."""
    lines = text.splitlines()
    return [line for line in lines if PARTITIVE.search(line.strip()) or NEGATION.search(line)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_read_like_a_natives(document: Path) -> None:
    assert unlike_a_native(document.read_text()) == []


def helps(command: click.Command) -> Iterator[str]:
    """What a command, its options and its own commands say of themselves."""
    yield command.help or ""
    yield from (option.help or "" for option in command.params if isinstance(option, click.Option))
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), name)
            assert found
            yield from helps(found)


def test_help_reads_like_a_natives() -> None:
    told = list(helps(cli))
    assert len(told) > 100
    assert [line for text in told for line in unlike_a_native(text)] == []


def test_ranges_in_help_are_bounds_that_a_user_may_meet() -> None:
    """Not ``[1<=x<=4611686018427387904]``, as click writes them."""
    told = {
        name: " ".join(CliRunner().invoke(cli, [*name.split(), "--help"]).output.split())
        for name in (*COMMANDS, "kernel remove")
    }
    assert [name for name, text in told.items() if re.search(r"[<>]=|\[[^]]*\d{7}", text)] == []
    assert "[default: 1; 1 to 1,024]" in told["record"]
    assert "[at least 60]" in told["report"]
    assert "[default: 600]" in told["bisect"]


def test_docstrings_and_messages_read_like_a_natives() -> None:
    for room in ("profdiff", "collectors", "symbolization", "base"):
        for file in (ROOT / room).rglob("*.py"):
            for one in ast.walk(ast.parse(file.read_text())):
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    assert unlike_a_native(one.value) == [], f"{file}:{one.lineno}"
