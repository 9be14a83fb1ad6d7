"""The crates that are linked into profdiff's binaries, by what `cargo metadata` says."""

import json
import subprocess
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLATFORMS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
BINARIES = {
    "profdiff-python-bindings": "_native",
    "tcg-plugin-api1": "tcg_plugin_api1",
    "tcg-plugin-api2": "tcg_plugin_api2",
}


def crates(platform: str = PLATFORMS[0]) -> list[tuple[str, str, str, Path, list[str]]]:
    """Name, version, licence, folder and binaries of each crate that is linked there."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    command += ["--filter-platform", platform]
    made = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    data = json.loads(made)
    packages = {one["id"]: one for one in data["packages"]}
    nodes = {one["id"]: one["deps"] for one in data["resolve"]["nodes"]}
    users: dict[str, list[str]] = defaultdict(list)
    for package in packages.values():
        if binary := BINARIES.get(package["name"]):
            for found in reached(package["id"], packages, nodes):
                users[found].append(binary)
    rows = [
        (one["name"], one["version"], one["license"], Path(one["manifest_path"]).parent, of)
        for one, of in ((packages[key], sorted(users[key])) for key in users)
        if one["source"]
    ]
    return sorted(rows)


def reached(start: str, packages: dict, nodes: dict) -> set[str]:
    """A crate and all that it links: neither what builds it, nor macros, which run in the
    compiler."""
    found, left = set(), [start]
    while left:
        key = left.pop()
        macro = any("proc-macro" in target["kind"] for target in packages[key]["targets"])
        if key in found or macro:
            continue
        found.add(key)
        left += [
            one["pkg"]
            for one in nodes[key]
            if any(kind["kind"] is None for kind in one["dep_kinds"])
        ]
    return found
