"""``name: value unit``, one on a line: what a small program prints.

The name is all before the first colon that a blank and a number follow; the unit, if any, is the
rest of the line: ``400 KiB: 123 ns per call``. Other lines are passed over, but for headings.
"""

import re

from profdiff.collectors.workload.metrics.reading import NUMBER, Reading, number, with_headings
from profdiff.collectors.workload.printed_unit import unit, unit_of_name

# A unit is short, so that prose is not taken for one.
_VALUE = re.compile(
    rf":[ \t]++(?P<value>{NUMBER})(?:[ \t]*+(?P<unit>(?:[^\W\d_]|%|/)[^\x00-\x1f:]{{0,39}}))?$"
)


def read(output: str) -> list[Reading]:
    """A reading for each such line."""
    readings = []
    for line, headings in with_headings(output):
        if match := _VALUE.search(line):
            name, value = line[: match.start()].strip(), number(match["value"])
            if name and value is not None:
                said = unit(match["unit"]) if match["unit"] else unit_of_name(name)
                readings.append(Reading(name, [value], said, None, headings))
    return readings
