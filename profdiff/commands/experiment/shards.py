"""``--shard`` of one workload: which of its runs are wanted, and where they go. A suite has its own
(``recording.suites``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profdiff.recording.experiment import Experiment
    from profdiff.recording.experiments import Experiments
    from profdiff.recording.schedule import Chosen
    from profdiff.recording.shard import Shard


def wanted_shard(options: dict[str, Any]) -> Shard | None:
    """The shard that the values of ``experiment_options`` ask for, None for the whole. Where none
    is given, ``output`` becomes a folder of its own. Raises InputError."""
    from profdiff.recording.experiments import session_folder
    from profdiff.recording.shard import Shard

    if not options["shard"]:
        return None
    shard = Shard.parse(options["shard"])
    if options["output"] is None and options["command"]:
        whole = session_folder(None, options["command"])
        options["output"] = Path(f"{whole.stem}{shard.suffix}.profdiff")
    return shard


def of_shard(shard: Shard | None, asked: Experiments) -> Experiments:
    """The same, whose sessions say that they are a shard."""
    from profdiff.session import manifest as m

    if shard is None:
        return asked
    told = f"{shard.number}/{shard.of}"
    each = [replace(one, planned=m.replace(one.planned, shard=told)) for one in asked.each]
    return replace(asked, each=each)


def chosen_runs(shard: Shard | None, each: Sequence[Experiment]) -> list[Chosen | None]:
    """Which runs of each experiment are a shard's; None: all are."""
    if shard is None:
        return [None for _ in each]
    # The folder of the only one is the shard's own, of which the division knows nothing.
    plans = {one.folder.name if len(each) > 1 else "": one.planned for one in each}
    points = {name: set(range(len(plan.points))) for name, plan in plans.items()}
    runs = shard.runs(plans, points)
    return [runs[name].__contains__ for name in plans]
