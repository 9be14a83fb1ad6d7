"""A strict reader of lcov's tracefiles, as geninfo(1) describes them: independent of profdiff."""

import re
from dataclasses import dataclass, field
from pathlib import Path

_RECORD = re.compile(
    r"(?:FN:(?P<start>\d+),(?P<name>[^,]+)|FNDA:(?P<calls>\d+),(?P<called>[^,]+)|FNF:(?P<fnf>\d+)"
    r"|FNH:(?P<fnh>\d+)|DA:(?P<line>\d+),(?P<count>\d+)|LF:(?P<lf>\d+)|LH:(?P<lh>\d+))"
)


@dataclass
class Section:
    """What a tracefile says of one source file."""

    test: str
    lines: dict[int, int] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)


def read(file: Path) -> dict[str, Section]:
    """The sections by source file. Fails on what the format does not have."""
    found: dict[str, Section] = {}
    content = file.read_text(encoding="utf-8")
    assert content == "" or content.endswith("end_of_record\n")
    for text in content.split("end_of_record\n")[:-1]:
        first, second, *rest = text.splitlines()
        test, source = re.fullmatch(r"TN:(\w+)", first), re.fullmatch(r"SF:(.+)", second)
        assert test is not None, first
        assert source is not None, second
        assert source[1] not in found
        section = found[source[1]] = Section(test[1])
        sums = {}
        for record in rest:
            match = _RECORD.fullmatch(record)
            assert match is not None, record
            one = match.groupdict()
            if one["name"]:
                assert one["name"] not in section.starts
                section.starts[one["name"]] = int(one["start"])
            elif one["called"]:
                section.calls[one["called"]] = int(one["calls"])
            elif one["line"]:
                assert int(one["line"]) not in section.lines
                section.lines[int(one["line"])] = int(one["count"])
            else:
                sums |= {name: int(one[name]) for name in ("fnf", "fnh", "lf", "lh") if one[name]}
        assert section.starts.keys() == section.calls.keys()
        ran = sum(count > 0 for count in section.lines.values())
        called = sum(count > 0 for count in section.calls.values())
        expected = {"lf": len(section.lines), "lh": ran}
        if section.starts:
            expected |= {"fnf": len(section.starts), "fnh": called}
        assert sums == expected
    return found


def lines(sections: dict[str, Section]) -> dict[tuple[str, int], int]:
    """The count of each line."""
    return {(name, at): n for name, one in sections.items() for at, n in one.lines.items()}
