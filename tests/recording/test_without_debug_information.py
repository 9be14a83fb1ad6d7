"""One build of a kernel against itself, with its debug information and without: nothing differs."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support import (
    EXAMPLE,
    RESTORED,
    need_kernel,
    need_profile,
    need_program,
    page_data,
    profdiff,
)

import profdiff as package

SAID = "no debug information tells what is inlined in vmlinux"
# Into mas_walk(), which mprotect() calls.
INLINED = "mtree_range_walk"


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory, new_kernel: Path) -> dict[str, str]:
    """The kernel with all that is known of it, as an image alone, and with its lines alone."""
    need_program("objcopy", "binutils")
    lines = tmp_path_factory.mktemp("lines") / "vmlinux"
    without = [f"--remove-section=.debug_{name}" for name in ("info", "abbrev", "rnglists")]
    subprocess.run(["objcopy", *without, new_kernel / "vmlinux", lines], check=True)
    image = new_kernel / "bzImage"
    return {
        "whole": f"{image},vmlinux={new_kernel / 'vmlinux'}",
        "image": str(image),
        "lines": f"{image},vmlinux={lines}",
    }


@pytest.fixture(scope="module")
def recorded(
    tmp_path_factory: pytest.TempPathFactory, specs: dict[str, str], qemu: object
) -> tuple[Path, str]:
    """The session, and what ``record`` said."""
    session = tmp_path_factory.mktemp("blind") / "blind.profdiff"
    kernels = [f"--kernel={label}={spec}" for label, spec in specs.items()]
    done = profdiff("record", *RESTORED, *kernels, "-o", session, "--", EXAMPLE, "64", "20")
    return session, done.stdout + done.stderr


def differing(document: dict[str, Any]) -> list[str]:
    """The functions that do not cost the same on all kernels."""
    rows = (row for metric in document["metrics"] for row in metric["functions"])
    columns = ("self", "total")
    return [row["name"] for row in rows if any(len({*row[name].values()}) > 1 for name in columns)]


def functions(session: Path) -> set[str]:
    """The names that the table for programs has."""
    opened = package.open(session)
    assert isinstance(opened, package.Session)
    return {row.function for row in opened.functions()}


@pytest.mark.guest
def test_no_function_of_one_build_differs(recorded: tuple[Path, str]) -> None:
    session, said = recorded
    assert said.count(SAID) == 2, "once when it begins, once at its end"
    document = json.loads(profdiff("report", session, "--json", "-").stdout)
    assert differing(document) == []
    assert [text for text in document["evidence"] if "image and lines: " + SAID in text]
    names = functions(session)
    assert "mas_walk" in names
    assert INLINED not in names
    profdiff("report", session, "--html", "page.html", cwd=session)
    assert SAID in page_data(session / "page.html")
    for form in ("--text", "--svg", "--speedscope", "--firefox"):
        shown = profdiff("report", session, form, "-").stdout
        assert SAID in " ".join(shown.split()), form
    assert SAID in profdiff("report", session, "--csv", "-").stderr


@pytest.mark.guest
def test_no_flame_of_one_build_has_a_colour(recorded: tuple[Path, str], tmp_path: Path) -> None:
    session, _ = recorded
    drawn = profdiff("report", session, "--svg", "-").stdout
    frames = re.findall(r'<g><title>[^<]*</title><rect [^>]*fill="(#\w+)"', drawn)
    assert len(frames) > 100
    assert {*frames} <= {"#ececec", "#bdbdbd"}
    profdiff("report", session, "--folded", tmp_path / "f.txt")
    stacks = [(tmp_path / f"f.{label}.txt").read_bytes() for label in ("whole", "image", "lines")]
    assert stacks[0] == stacks[1] == stacks[2]


@pytest.mark.guest
@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("instructions > +1%", 0),
        ("instructions:main > +0", 0),
        ("instructions:mas_walk > +0", 125),
        ("instructions:total:mas_walk > +0", 125),
        (f"instructions:{INLINED} > +0", 125),
        (f"inlined:{INLINED} changed", 125),
        ("size:mas_walk > +0", 125),
        ("locked:mas_walk > +0", 125),
        ("events:tlb-flushes > +0", 125),
    ],
)
def test_check_decides_nothing_about_functions(
    recorded: tuple[Path, str], condition: str, status: int
) -> None:
    said = profdiff("check", recorded[0], "--fail-if", condition, status=status)
    assert status == 0 or "inlined" in said.stdout


@pytest.mark.guest
def test_coverage_keeps_the_lines_of_the_kernel_that_has_them(
    recorded: tuple[Path, str], tmp_path: Path
) -> None:
    profdiff("coverage", recorded[0], "-o", tmp_path)
    told = (tmp_path / "whole.info").read_text()
    assert "\nSF:include/" in told, "headers have inlined functions alone"
    assert not (tmp_path / "image.info").exists()


@pytest.mark.guest
def test_a_mail_about_such_a_pair_says_it(
    tmp_path: Path, qemu: object, old_kernel: Path, specs: dict[str, str]
) -> None:
    session, draft = tmp_path / "pair.profdiff", tmp_path / "draft.eml"
    old = f"--kernel=old={old_kernel / 'bzImage'},vmlinux={old_kernel / 'vmlinux'}"
    new = f"--kernel=new={specs['image']}"
    profdiff("record", *RESTORED, old, new, "-o", session, "--", EXAMPLE, "64", "20")
    profdiff("mail", session, "--to", "list@example.org", "-o", draft)
    assert "new: " + SAID in " ".join(draft.read_text().split())
    assert INLINED not in functions(session), "it is inlined in both kernels, and known of one"


def sampled(folder: Path, *, blind: Sequence[str]) -> list[str]:
    """Arguments of diff: one recording twice, with the symbols of its kernel alone for some."""
    elf, arguments = need_kernel("v6.18.15") / "vmlinux", list[str]()
    kallsyms = folder / "kallsyms"
    need_program("nm", "binutils")
    with kallsyms.open("w") as file:
        subprocess.run(["nm", elf], check=True, stdout=file)
    for label in ("whole", "bare"):
        copy = folder / f"{label}.perf.data"
        shutil.copyfile(need_profile("v6.18.15"), copy)
        symbols = ("--kallsyms", kallsyms) if label in blind else ("--vmlinux", elf)
        arguments += [f"{label}={copy}", symbols[0], f"{label}={symbols[1]}"]
    return arguments


@pytest.mark.kernel
@pytest.mark.parametrize("command", ["diff", "import"])
def test_samples_of_one_kernel_compare_by_symbol(tmp_path: Path, command: str) -> None:
    given = sampled(tmp_path, blind=["bare"])
    if command == "import":
        profdiff("import", *given, "-o", tmp_path / "s.profdiff")
        shown = profdiff("report", tmp_path / "s.profdiff", "--json", "-")
    else:
        shown = profdiff("diff", *given, "--json", "-")
    document = json.loads(shown.stdout)
    assert differing(document) == []
    assert any(text.startswith(f"bare: {SAID}") for text in document["evidence"])
    both = profdiff("diff", *sampled(tmp_path, blind=[]), "--json", "-")
    assert len(json.loads(both.stdout)["metrics"][0]["functions"]) > len(
        document["metrics"][0]["functions"]
    ), "with debug information, inlined functions show"
