"""What tests compare with a file that is kept, and the one way to accept what changed."""

import json
import os
from difflib import unified_diff
from itertools import islice
from pathlib import Path


def check_golden(file: Path, made: str, tests: str) -> None:
    """``made`` is what ``file`` holds; ``tests``: how pytest selects the test that accepts it."""
    command = f"PROFDIFF_UPDATE_GOLDENS=1 pytest {tests}"
    if os.environ.get("PROFDIFF_UPDATE_GOLDENS"):
        file.write_text(made)
    assert file.exists(), f"there is no {file}: run {command}"
    if (held := file.read_text()) != made:
        lines = unified_diff(held.splitlines(), made.splitlines(), "held", "made", n=0, lineterm="")
        first = "\n".join(islice(lines, 40))
        raise AssertionError(f"{file} holds something else; to accept: {command}\n{first}")


def check_schema(file: Path, schema: object, folder: str) -> None:
    """The schema of records is the one that comes with the package; ``folder``: of the tests."""
    check_golden(file, json.dumps(schema, indent=1) + "\n", f"tests/{folder} -k schema")
