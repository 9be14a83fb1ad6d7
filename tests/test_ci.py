"""What CI services run: the script, as a step of the action does, and the files that they read."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support import EXAMPLE, ROOT

ACTION, TEMPLATE = ROOT / "action.yml", ROOT / "scripts/gitlab-ci.yml"
PAGE = (ROOT / "docs/ci.md").read_text()
#: What a workflow or a job of GitLab's says, as the page has it.
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def loaded(text: str) -> Any:
    return pytest.importorskip("yaml", reason="PyYAML is not installed").safe_load(text)


def ci(folder: Path, variables: Mapping[str, str], status: int = 0) -> str:
    """Run the script in ``folder``, with this profdiff as an installed one."""
    programs = folder / "bin"
    if not programs.exists():
        programs.mkdir()
        (programs / "profdiff").write_text(f'#!/bin/sh\nexec {sys.executable} -m profdiff "$@"\n')
        (programs / "profdiff").chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"} | dict(variables)
    words = ["sh", str(ROOT / "scripts/ci")]
    result = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=500
    )
    assert result.returncode == status, result.stdout + result.stderr
    return result.stdout


@pytest.mark.guest
def test_a_step_records_reports_and_judges(
    tmp_path: Path, recorded: Path, old_kernel: Path, new_kernel: Path
) -> None:
    """The recording is there already, so that record only finds that nothing is left to do."""
    shutil.copytree(recorded, tmp_path / "out" / "session.profdiff")
    summary, output = tmp_path / "summary.md", tmp_path / "output"
    said = ci(
        tmp_path,
        {
            "PROFDIFF_KERNEL": f"base={old_kernel}\nnew={new_kernel}\n",
            "PROFDIFF_COMMAND": f"'{EXAMPLE}' 400 \"200\" 4000 20",
            "PROFDIFF_OPTIONS": "--ops 40000 --verify",
            "PROFDIFF_FAIL_IF": "instructions:user > +50%\n\ninstructions > +2%\n",
            "PROFDIFF_OUTPUT": "out",
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_OUTPUT": str(output),
        },
        status=1,
    )
    assert "fails: instructions:total > +2%" in said
    assert (tmp_path / "out/report.txt").read_text() in said
    assert "</html>" in (tmp_path / "out/report.html").read_text()
    assert "fails: 1, passes: 1" in summary.read_text()
    assert (tmp_path / "out/comment.md").read_text() == summary.read_text()
    assert output.read_text() == "status=1\n"
    suites = ET.parse(tmp_path / "out/junit.xml").getroot()  # noqa: S314
    assert (suites.get("tests"), suites.get("failures")) == ("2", "1")


def test_words_are_split_and_never_expanded(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/profdiff"
    program.write_text('#!/bin/sh\nprintf "<%s>" "$@" >> said\necho >> said\n')
    program.chmod(0o755)
    variables = {
        "PROFDIFF_KERNEL": "a=$(touch x)\n*=b c\n",
        "PROFDIFF_COMMAND": "./a '$(touch y)' \"b  c\" `touch z` * d\\ e",
        "PROFDIFF_SHARD": "1/2",
        "PROFDIFF_OPTIONS": "--ops '3 4'",
    }
    ci(tmp_path, variables)
    assert (tmp_path / "said").read_text() == (
        "<record><--output><profdiff/session.profdiff><--kernel><a=$(touch x)><--kernel><*=b c>"
        "<--shard><1/2><--ops><3 4><--><./a><$(touch y)><b  c><`touch><z`><*><d e>\n"
    )
    (tmp_path / "said").unlink()
    ci(tmp_path, {"PROFDIFF_MERGE": "p 1\np2\n", "PROFDIFF_OUTPUT": "o"})
    assert (tmp_path / "said").read_text().splitlines() == [
        "<merge><o/session.profdiff><p 1><p2>",
        "<report><o/session.profdiff>",
        "<report><o/session.profdiff><--html><o/report.html>",
    ]
    assert not any((tmp_path / name).exists() for name in "xyz")


def test_inputs_are_what_the_script_takes(tmp_path: Path) -> None:
    action = loaded(ACTION.read_text())
    (step,) = (one for one in action["runs"]["steps"] if one.get("id") == "run")
    script = (ROOT / "scripts/ci").read_text()
    taken = set(re.findall(r"\$\{(PROFDIFF_\w+)", script))
    assert step["env"].keys() == taken
    for variable, value in step["env"].items():
        name = variable.removeprefix("PROFDIFF_").lower().replace("_", "-")
        assert value == f"${{{{ inputs.{name} }}}}" and name in action["inputs"]
        assert f"`{name}`" in PAGE
    assert all(f"`{name}`" in PAGE for name in action["inputs"])
    template = loaded(TEMPLATE.read_text())[".profdiff"]
    packages = action["inputs"]["packages"]["default"]
    assert template["variables"]["PROFDIFF_PACKAGES"] == packages
    for text in EXAMPLES:
        assert set(re.findall(r"PROFDIFF_\w+", text)) <= taken | {"PROFDIFF_PACKAGE"}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("github-actions", []),
        ("github-workflows", []),
        ("gitlab-ci", ["--data-transform", "gitlab-ci"]),
    ],
)
def test_published_schemas_accept_the_files(tmp_path: Path, schema: str, words: list[str]) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    files = {
        "github-actions": [ACTION],
        "github-workflows": workflows(tmp_path),
        "gitlab-ci": [TEMPLATE, *written(tmp_path, "include:")],
    }[schema]
    assert files
    command = ["-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *words]
    result = subprocess.run(
        [sys.executable, *command, *files], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_actionlint_accepts_the_workflows_of_the_page(tmp_path: Path) -> None:
    """With the action beside them, as one of the same repository, it compares their inputs."""
    program = shutil.which("actionlint")
    if program is None:
        pytest.skip("actionlint is not installed: scripts/setup test does that where Go is")
    shutil.copy(ACTION, tmp_path)
    (tmp_path / ".git").mkdir()
    files = workflows(tmp_path)
    for file in files:
        file.write_text(file.read_text().replace("OWNER/profdiff@REVISION", "./"))
    command = [program, "-no-color", *map(str, files)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    files[0].write_text(files[0].read_text().replace("fail-if:", "fail_if:"))
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 'input "fail_if" is not defined' in result.stdout


def workflows(folder: Path) -> list[Path]:
    return written(folder, "name:")


def written(folder: Path, begins: str) -> list[Path]:
    """The examples of the page that begin so, each in a file."""
    place = folder / ".github/workflows"
    place.mkdir(parents=True, exist_ok=True)
    files = []
    for number, text in enumerate(EXAMPLES):
        if text.startswith(begins):
            files.append(place / f"{number}.yml")
            files[-1].write_text(text)
    return files
