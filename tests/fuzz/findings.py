"""What went wrong: kept with its input once for each cause, counted every time."""

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    """What a reader did with an input. ``refused``: it said what is wrong with it. ``what`` went
    wrong, None if nothing; ``signature`` is the same for the same cause; ``detail``: a trace."""

    refused: bool = False
    what: str | None = None
    signature: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Finding:
    """A cause, in its first case. ``file``: the input, beside it a ``.txt`` with the trace."""

    case: int
    what: str
    signature: str
    file: Path
    times: int = 1


class Log:
    """The findings of one worker, whose children end at any time: a file of lines."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, case: int, outcome: Outcome, data: bytes, kept: Path) -> None:
        """Note a finding. Of each cause the first input goes to the file ``kept``."""
        lines = self.lines()
        for line in lines:
            if line["signature"] == outcome.signature:
                line["times"] = int(str(line["times"])) + 1
                break
        else:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(data)
            kept.with_name(f"{kept.name}.txt").write_text(f"{outcome.what}\n{outcome.detail}")
            lines.append(
                {
                    "case": case,
                    "what": outcome.what,
                    "signature": outcome.signature,
                    "file": str(kept),
                    "times": 1,
                }
            )
        self._file.write_text("".join(json.dumps(one) + "\n" for one in lines))

    def lines(self) -> list[dict[str, object]]:
        """A line for each cause."""
        if not self._file.exists():
            return []
        return [json.loads(line) for line in self._file.read_text().splitlines()]


def merged(logs: Iterable[Log]) -> list[Finding]:
    """The findings of several workers: the first case of each cause."""
    found: dict[str, Finding] = {}
    for log in logs:
        for line in log.lines():
            one = Finding(**{**line, "file": Path(str(line["file"]))})  # type: ignore[arg-type]
            known = found.get(one.signature, one)
            first = min(one, known, key=lambda finding: finding.case)
            times = one.times + (known.times if known is not one else 0)
            found[one.signature] = Finding(
                first.case, first.what, first.signature, first.file, times
            )
    return sorted(found.values(), key=lambda finding: finding.case)


def digest(signature: str) -> str:
    """A short name of a cause."""
    return f"{zlib.crc32(signature.encode()):08x}"
