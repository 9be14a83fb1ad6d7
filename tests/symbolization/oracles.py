"""Independent symbolizers, and how their answers become comparable with profdiff's."""

import json
import posixpath
import subprocess
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Frame = tuple[str, bool, str, int]
"""Function, inlined, file relative to the source tree, line."""


def llvm_chains(elf: Path, addresses: NDArray[np.uint64], folder: str) -> list[list[Frame]]:
    """llvm-symbolizer's chains, outermost first; unknown names and files are empty."""
    arguments = ["--output-style=JSON", "--inlines", "--functions=short", "--no-demangle"]
    done = subprocess.run(
        ["llvm-symbolizer", f"--obj={elf}", *arguments],
        input="".join(f"{address:#x}\n" for address in addresses),
        capture_output=True,
        text=True,
        check=True,
    )
    chains = []
    for line in done.stdout.splitlines():
        if not line:
            continue
        frames = [
            (frame["FunctionName"], False, tree_name(frame["FileName"], folder), frame["Line"])
            for frame in reversed(json.loads(line)["Symbol"])
        ]
        chains.append([(name, i > 0, file, at) for i, (name, _, file, at) in enumerate(frames)])
    assert len(chains) == len(addresses)
    return chains


def tree_name(path: str, folder: str) -> str:
    """A file's name relative to the folder that the kernel was compiled in."""
    if not path:
        return ""
    path = posixpath.normpath(path)
    return path.removeprefix(folder.rstrip("/") + "/")
