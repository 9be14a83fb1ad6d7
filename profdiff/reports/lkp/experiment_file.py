"""The recording that answers a report of the robot's, as an experiment file."""

import json

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.views.lkp.document import LkpDocument


def render(document: LkpDocument) -> str:
    """TOML as docs/experiments.md has it, of the reported test. Raises InputError where profdiff
    has no workload for it, or one of the suite's cells stands for it."""
    first = document.tests[0]
    experiment = first.answer.experiment
    if experiment is None:
        raise InputError(f"--experiment: {first.answer.notes[0]}")
    if experiment.suite:
        raise InputError(
            f"--experiment: a cell of the suite {experiment.suite} stands for this test, which no "
            "experiment file names: use the command"
        )
    about = units.printable(f"{first.metric or 'a report'} of {document.subject}")
    lines = [f"# {about}"]
    # JSON's strings are basic strings of TOML, except for surrogates, which are not escaped here.
    lines += [
        f"{name} = {json.dumps(value, ensure_ascii=False)}"
        for name, value in experiment.options.items()
    ]
    return "\n".join(lines) + "\n"
