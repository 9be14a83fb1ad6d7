#!/usr/bin/env python3
"""Judge conditions on what profdiff recorded, and print a submission to KernelCI's results database
(KCIDB): checkouts, builds, and a test for each judgement.

The fields are those of its schema 5.3 (kernelci/kcidb-io, ``kcidb_io.schema.V5_3``). What is not
known is left out. The exit status is that of profdiff check; where it is 2, nothing is printed.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import profdiff

Recording = profdiff.Session | profdiff.Parts | profdiff.Suite
# What a path in the tree of tests may hold, between its dots.
FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")
STATUSES = {"holds": "FAIL", "does not hold": "PASS", "inconclusive": "DONE"}


class UsageError(Exception):
    """What is wrong with the command line."""


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write judged conditions for KCIDB.")
    parser.add_argument("session", help="a session, a folder with several, or a suite")
    parser.add_argument("--fail-if", action="append", required=True, metavar="CONDITION")
    parser.add_argument("--origin", required=True, help="what KernelCI calls your CI system")
    parser.add_argument(
        "--build",
        action="append",
        default=[],
        metavar="LABEL=ID",
        help="this kernel is the build ID of KCIDB (ORIGIN:...), which has it already",
    )
    asked = parser.parse_args(words)
    try:
        known = named_builds(asked.origin, asked.build)
        recording = profdiff.open(asked.session)
        judgements = list(recording.check(*asked.fail_if))
        document = submission(recording, judgements, asked.origin, known)
    except (profdiff.ProfdiffError, UsageError) as error:
        print(f"kcidb.py: {error}", file=sys.stderr)
        return 2
    print(json.dumps(document, indent=1))
    outcomes = {row.outcome for row in judgements}
    return 1 if "holds" in outcomes else 125 if "inconclusive" in outcomes else 0


def named_builds(origin: str, builds: Sequence[str]) -> dict[str, str]:
    """The builds that KCIDB has, by label. Raises UsageError."""
    if not re.fullmatch("[a-z0-9_]+", origin):
        raise UsageError(f"--origin {origin!r}: use lower-case letters, digits and _ only")
    known = {}
    for text in builds:
        label, equals, build = text.partition("=")
        if not (label and equals and re.fullmatch(r"[a-z0-9_]+:[^\0]+", build)):
            raise UsageError(f"--build {text!r}: write LABEL=ORIGIN:ID, as KCIDB has the build")
        known[label] = build
    return known


def submission(
    recording: Recording, judgements: Sequence[Any], origin: str, known: Mapping[str, str]
) -> dict[str, Any]:
    """A test for each judgement, and the builds and checkouts that KCIDB does not have yet. Raises
    UsageError for a ``known`` build of a kernel that was not judged."""
    checkouts: dict[str, Any] = {}
    builds: dict[str, Any] = {}
    tests = []
    used = set()

    @cache
    def place(part: str) -> tuple[dict[str, Any], list[Any]]:
        """The kernels and the runs of a judgement's session."""
        if isinstance(recording, profdiff.Suite):
            session: Any = recording.cell(part)
        else:
            session = recording.sessions[part]
        return {kernel.label: kernel for kernel in session.kernels()}, list(session.runs())

    for judgement in judgements:
        kernels, runs = place(judgement.part)
        base, kernel = next(iter(kernels.values())), kernels[judgement.kernel]
        ids = []
        for one in (base, kernel):
            used.add(one.label)
            if one.label not in known:
                build, checkout = build_of(one, runs, origin)
                builds[build["id"]], checkouts[checkout["id"]] = build, checkout
            ids.append(known.get(one.label) or build["id"])
        own = [run for run in runs if run.kernel == kernel.label]
        tests.append(test_of(recording, judgement, own, ids, origin))
    if missing := next(iter(known.keys() - used), None):
        raise UsageError(f"--build {missing}=...: no kernel of this name was judged")
    return {
        "version": {"major": 5, "minor": 3},
        "checkouts": list(checkouts.values()),
        "builds": list(builds.values()),
        "tests": tests,
    }


def build_of(
    kernel: Any, runs: Sequence[Any], origin: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A kernel's build and checkout."""
    own = kernel.build_id or kernel.image_sha256 or digest(runs[0].started, kernel.label)
    if kernel.tree is None:
        checkout = fields(
            id=f"{origin}:{own}", origin=origin, comment=kernel.release or kernel.label
        )
    else:
        checkout = fields(
            id=f"{origin}:{kernel.tree}",
            origin=origin,
            # The schema has room for a SHA-1 only.
            git_commit_hash=kernel.commit if len(kernel.commit) == 40 else None,
            git_commit_name=kernel.described,
            comment=kernel.subject,
            misc=fields(
                tree=kernel.tree, changed=kernel.built != kernel.commit, patches=kernel.patches
            ),
        )
    build = fields(
        id=f"{origin}:{own}",
        origin=origin,
        checkout_id=checkout["id"],
        comment=kernel.version or kernel.release or kernel.label,
        architecture=kernel.arch,
        compiler=kernel.compiler,
        # It runs.
        status="PASS",
    )
    return build, checkout


def test_of(
    recording: Recording, judgement: Any, runs: Sequence[Any], ids: Sequence[str], origin: str
) -> dict[str, Any]:
    """The row of a judgement. ``runs``: of its kernel; ``ids``: the builds of base and kernel."""
    measured = judgement.other is not None
    unit = "/".join(filter(None, [judgement.unit, "op" if judgement.per_op else ""]))
    stem = recording.folder.resolve().name.removesuffix(".profdiff")
    place = [stem, *judgement.part.split("/"), judgement.at]
    words = ["profdiff", *place, judgement.metric, *judgement.what.split(":", 1)]
    path = ".".join(filter(None, (FOREIGN.sub("_", word) for word in words)))
    started = min((run.started for run in runs), default="")
    status = STATUSES[judgement.outcome]
    return fields(
        id=f"{origin}:{digest(started, *ids, path, judgement.at, judgement.condition)}",
        origin=origin,
        build_id=ids[1],
        path=path,
        comment=f"{judgement.condition}: {judgement.told}",
        # What was measured says nothing of the code; or a run of it failed.
        status="MISS" if status == "DONE" and not measured else status,
        number=fields(value=judgement.other, unit=unit if measured and judgement.unit else None),
        start_time=started,
        environment=fields(comment=", ".join(dict.fromkeys(run.qemu for run in runs if run.qemu))),
        misc=fields(profdiff=profdiff.__version__, condition=judgement.condition, base=ids[0]),
    )


def fields(**values: Any) -> dict[str, Any]:
    """Those that are known; texts as KCIDB takes them, without control characters."""
    return {
        name: printable(value) if isinstance(value, str) else value
        for name, value in values.items()
        if value not in (None, "", {})
    }


def printable(text: str) -> str:
    return "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in text)


def digest(*parts: str) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
