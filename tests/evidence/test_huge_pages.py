"""Huge pages that a workload asks for and does not have come before all numbers."""

from pathlib import Path

import msgspec
import pytest
from synthetic import manifest

from profdiff.collectors.records import Guest
from profdiff.evidence.huge_pages import lacking
from profdiff.profile import session_facts
from profdiff.session import manifest as m
from profdiff.session.points import settings
from profdiff.session.session import Session
from profdiff.session.state import compare_states

GUEST = Guest(memory=400, append="", settle=5.0, timeout=600.0)


def told(
    folder: Path,
    *,
    enabled: str,
    config: str,
    resident: int = 4096,
    command_line: str = "",
    memory: int = 400,
    **seen: int,
) -> str:
    """What the report of two kernels alike says, whose runs saw ``seen``."""
    seen = {"huge_page_requests": 0, "anon_huge_kib": 0, "thp_fault_alloc": 0, **seen}
    files = {
        "observed": f"complete 1\nanon_huge_kib {seen['anon_huge_kib']}\nresident_kib {resident}\n"
        f"huge_page_requests {seen['huge_page_requests']}\n",
        "state": f"/sys/kernel/mm/transparent_hugepage/enabled {enabled}\n" if enabled else "\n",
        "vmstat-before": "thp_fault_alloc 0\n",
        "vmstat-after": f"thp_fault_alloc {seen['thp_fault_alloc']}\n",
        "cmdline": command_line,
        "config": f"CONFIG_TRANSPARENT_HUGEPAGE{config}=y\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    described = manifest(["a", "b"])
    names = {name: name for name in files}
    session = Session(
        folder,
        m.replace(
            described,
            guest=m.replace(GUEST, memory=memory),
            kernels=[m.replace(one, config="config") for one in described.kernels],
            runs=[m.replace(one, files=names, exit_status=0) for one in described.runs],
        ),
    )
    (setting,) = settings(session.manifest)
    state = compare_states(session)
    return " ".join(lacking(session, session_facts.read(session), setting, state))


ALWAYS, MADVISE, NEVER = (
    " ".join(f"[{one}]" if one == chosen else one for one in ("always", "madvise", "never"))
    for chosen in ("always", "madvise", "never")
)
ASKS = "The workload asks for huge pages (3 times), but gets none on a and b"
SMALL = (
    "Linux turns them off in guests of 400 MiB, though the config has them on; record with "
    "--memory 1G"
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # The guest is too small: whoever asks, and with ALWAYS whoever has room for one.
        ({"enabled": NEVER, "config": "_MADVISE", "huge_page_requests": 3}, f"{ASKS}: {SMALL}."),
        ({"enabled": NEVER, "config": "_MADVISE"}, ""),
        (
            {"enabled": NEVER, "config": "_ALWAYS"},
            f"Transparent huge pages are off on a and b: {SMALL}.",
        ),
        ({"enabled": NEVER, "config": "_ALWAYS", "resident": 900}, ""),
        # Somebody wants it so.
        (
            {"enabled": NEVER, "config": "_ALWAYS", "command_line": "transparent_hugepage=never"},
            "",
        ),
        (
            {
                "enabled": NEVER,
                "config": "_ALWAYS",
                "command_line": "transparent_hugepage=never",
                "huge_page_requests": 3,
            },
            f"{ASKS}: /sys/kernel/mm/transparent_hugepage/enabled is never.",
        ),
        (
            {"enabled": "", "config": "_X", "huge_page_requests": 3},
            f"{ASKS}: CONFIG_TRANSPARENT_HUGEPAGE is off.",
        ),
        # There is memory enough: something else turned them off.
        (
            {
                "enabled": NEVER,
                "config": "_MADVISE",
                "memory": 2048,
                "huge_page_requests": 3,
            },
            f"{ASKS}: /sys/kernel/mm/transparent_hugepage/enabled is never.",
        ),
        ({"enabled": NEVER, "config": "_ALWAYS", "memory": 2048}, ""),
        # They are on, and the workload has some, or has none all the same.
        ({"enabled": MADVISE, "config": "_MADVISE", "huge_page_requests": 3}, f"{ASKS}."),
        (
            {
                "enabled": MADVISE,
                "config": "_MADVISE",
                "huge_page_requests": 3,
                "thp_fault_alloc": 1,
            },
            "",
        ),
        (
            {
                "enabled": ALWAYS,
                "config": "_ALWAYS",
                "huge_page_requests": 3,
                "anon_huge_kib": 2048,
            },
            "",
        ),
        ({"enabled": ALWAYS, "config": "_ALWAYS"}, ""),
    ],
)
def test_what_is_lacking_is_told_with_its_cause(
    tmp_path: Path, given: dict[str, str | int], expected: str
) -> None:
    assert told(tmp_path, **given) == expected  # type: ignore[arg-type]


def test_machines_have_what_they_have(tmp_path: Path) -> None:
    """Only a guest is given other memory than its user's machine has."""
    assert told(tmp_path, enabled=NEVER, config="_ALWAYS")
    described = msgspec.structs.replace(manifest(["a", "b"]), guest=None)
    session = Session(tmp_path, described)
    (setting,) = settings(described)
    assert lacking(session, session_facts.read(session), setting, compare_states(session)) == []
