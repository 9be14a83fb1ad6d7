"""How long it takes to find the commits of lines in a repository of Linux's size.

    python benches/sources.py [--files N] [--commits C] [--lines L] [--at FOLDER]

A repository is made of N files and C commits, on branches of eight that are merged, as between two
releases of Linux. L lines in 60 files are traced, half of them added and half removed. Exits with 1
when that takes more than 20 s. --at keeps the repository there, and uses one that is there.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from profdiff.sources.repository import Repository

SECONDS = 20.0
HOT = 60
LENGTH = 1000
BRANCH = 8


def path(number: int) -> str:
    """Folders as large as Linux's: some 50 files each."""
    return f"dir{number // 2500}/sub{number // 50 % 50}/file{number}.c"


def content(number: int, length: int, versions: dict[int, int]) -> bytes:
    """A file whose lines say how often each was changed."""
    lines = (
        f"\tvalue_{line}_of_{number} = version_{versions.get(line, 0)}(argument);\n"
        for line in range(length)
    )
    return "".join(lines).encode()


def stream(files: int, commits: int) -> Iterator[bytes]:
    """What git fast-import reads."""
    chance = random.Random(14)
    hot = frozenset(chosen := chance.sample(range(files), HOT))
    versions: dict[int, dict[int, int]] = {}

    def length(one: int) -> int:
        return LENGTH if one in hot else 20

    def data(raw: bytes) -> bytes:
        return b"data %d\n%s\n" % (len(raw), raw)

    def commit(mark: int, parents: list[int], changed: set[int]) -> bytes:
        head = f"commit refs/heads/main\nmark :{mark}\ncommitter A <a@b> {10**9 + mark} +0000\n"
        said = head.encode() + data(f"commit {mark}".encode())
        for i, parent in enumerate(parents):
            said += f"{'merge' if i else 'from'} :{parent}\n".encode()
        return said + b"".join(
            f"M 100644 inline {path(one)}\n".encode()
            + data(content(one, length(one), versions.get(one, {})))
            for one in sorted(changed)
        )

    yield commit(1, [], set(range(files)))
    yield b"tag base\nfrom :1\ntagger A <a@b> 1000000000 +0000\ndata 0\n"
    trunk, mark = 1, 1
    while mark < commits:
        # A branch leaves the trunk and comes back at once; others' work does not meet it.
        tip, all_changed = trunk, set()
        for _ in range(BRANCH):
            one = chance.choice(chosen) if chance.random() < 0.05 else chance.randrange(files)
            known = versions.setdefault(one, {})
            line = chance.randrange(length(one))
            known[line] = known.get(line, 0) + 1
            mark += 1
            yield commit(mark, [tip], {one})
            tip, all_changed = mark, all_changed | {one}
        mark += 1
        yield commit(mark, [trunk, tip], all_changed)
        trunk = mark
    yield b"done\n"


def make(folder: Path, files: int, commits: int) -> None:
    """Write the repository."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
    command = ["git", "-C", str(folder), "fast-import", "--quiet", "--done"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin
        for part in stream(files, commits):
            process.stdin.write(part)
        process.stdin.close()
        if process.wait():
            sys.exit("git fast-import fails")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=80_000)
    parser.add_argument("--commits", type=int, default=100_000)
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("--at", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.at or Path(temporary) / "repository"
        if not folder.exists():
            begin = time.perf_counter()
            make(folder, options.files, options.commits)
            print(f"made in {time.perf_counter() - begin:.0f} s")
        repository = Repository.open(folder)
        hot = [path(one) for one in random.Random(14).sample(range(options.files), HOT)]
        begin = time.perf_counter()
        same = repository.same_lines("base", "main", hot)
        compared = time.perf_counter() - begin
        lines = [(file, line) for file in hot for line in range(1, LENGTH + 1)]
        added = [line for line in lines if same.has(*line) and not same.in_base(*line)]
        removed = [line for line in lines if same.base_has(*line) and not same.in_new(*line)]
        half = options.lines // 2
        added, removed = (
            random.Random(1).sample(some, min(half, len(some))) for some in (added, removed)
        )
        found = repository.trace("base", "main", added, removed, same)
        took = time.perf_counter() - begin
    explained = len(found.added) + len(found.removed)
    print(
        f"{options.files} files, {options.commits} commits: {len(added) + len(removed)} lines in "
        f"{len({file for file, _ in added + removed})} files, {explained} of them explained, in "
        f"{took:.1f} s (limit {SECONDS:.0f} s), {compared:.1f} s of it to compare the files"
    )
    return took > SECONDS or explained < len(added) + len(removed)


if __name__ == "__main__":
    sys.exit(main())
