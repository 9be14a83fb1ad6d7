"""Help comes at once: nothing large is loaded before it is needed."""

import subprocess
import sys

import pytest

from profdiff.cli import cli
from profdiff.commands import COMMANDS

_LARGE = ["numpy", "scipy", "matplotlib", "msgspec", "rich", "profdiff.symbolization._native"]
_CHILD = f"""
import sys
from profdiff.cli import cli
cli.main(sys.argv[1:] + ["--help"], prog_name="profdiff", standalone_mode=False)
print([name for name in {_LARGE!r} if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize("command", ["", "report", "annotate", "check", "import", "diff"])
def test_help_loads_nothing_large(command: str) -> None:
    arguments = [sys.executable, "-c", _CHILD, *command.split()]
    result = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert result.stdout.startswith("Usage: profdiff")
    assert result.stderr == "[]\n"


def test_the_list_of_commands_is_complete() -> None:
    context = cli.make_context("profdiff", ["--help"], resilient_parsing=True)
    for name, listed in COMMANDS.items():
        command = cli.get_command(context, name)
        assert command is not None and command.name == name
        assert listed.help.endswith(".") and len(listed.help) <= 60
        assert f"  {name}" in cli.get_help(context)
