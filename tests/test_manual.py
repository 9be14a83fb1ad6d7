"""The manual pages: made from the help, and what man(1) and mandoc(1) say of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from support import IMPORTED, ROOT, need_program

from profdiff.cli import cli
from profdiff.commands import COMMANDS
from profdiff.commands.command import Command


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man")
    environment = {**os.environ, "PYTHONPATH": str(IMPORTED), "SOURCE_DATE_EPOCH": "0"}
    command = [sys.executable, ROOT / "scripts/manual", folder]
    subprocess.run(command, check=True, env=environment)
    return folder


def shown(page: Path) -> str:
    """What man(1) shows of it, on lines that are never cut."""
    environment = {**os.environ, "MANWIDTH": "10000", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"}
    result = subprocess.run(
        ["man", "--warnings=w", "-l", page], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def test_every_command_has_a_page(pages: Path) -> None:
    context = click.Context(cli)
    kernel = cli.get_command(context, "kernel")
    assert isinstance(kernel, click.Group)
    names = {"profdiff", *(f"profdiff-{name}" for name in COMMANDS)}
    names |= {f"profdiff-kernel-{name}" for name in kernel.commands}
    assert {page.stem for page in pages.glob("*.1")} == names


def test_a_page_says_what_the_help_says(pages: Path) -> None:
    need_program("man", "man-db")
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        page = shown(pages / f"profdiff-{name}.1")
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"):
            assert f"\n{section}\n" in page
        assert f"profdiff-{name} - " in page
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert all(opt in page for opt in (*option.opts, *option.secondary_opts)), option
                assert option.help is not None
                assert " ".join(option.help.split()) in " ".join(page.split()), option.opts


def test_what_a_page_has_for_itself(pages: Path) -> None:
    need_program("man", "man-db")
    assert "\n       125    inconclusive" in shown(pages / "profdiff-check.1")
    example = "\nEXAMPLES\n         profdiff kernel add good ~/linux-6.16\n"
    assert example in shown(pages / "profdiff-kernel-add.1")
    assert "\n       PROFDIFF_CACHE\n" in shown(pages / "profdiff.1")
    assert "1970-01-01" in shown(pages / "profdiff.1")


def test_mandoc_finds_nothing(pages: Path) -> None:
    command = [need_program("mandoc"), "-T", "lint", "-W", "style", *sorted(pages.glob("*.1"))]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stdout == "", result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_stands_under_a_heading(name: str) -> None:
    """Once; arguments stand in the usage alone."""
    command = cli.get_command(click.Context(cli), name)
    if not isinstance(command, Command):
        return  # kernel, whose commands have a few options each
    text = command.get_help(click.Context(command, info_name=name))
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    names = {max(one.opts, key=len) for one in options}
    for one in names:
        assert len(re.findall(rf"(?m)^  (?:-\w, )?{one}(?=[ \n])", text)) >= 1, one
    shown = text[re.search(r"(?m)^(?!Usage)\w.*:$", text).start() :]
    rows = re.findall(r"(?m)^  (\S+)", shown)
    assert all(row.startswith("-") for row in rows), rows
    headed = {option for some in command.headings.values() for option in some}
    if not headed:
        return
    assert names <= headed
    # Other commands have some of the options of record.
    if "--kernel" not in headed:
        assert headed <= names
