"""Whether a session recorded shared lines, as its manifest alone tells."""

from profdiff.session.manifest import Manifest

COLLECTOR, FILE = "sharing", "sharing"


def has_lines(manifest: Manifest) -> bool:
    """Whether some run recorded shared lines."""
    return any(run.collector == COLLECTOR and FILE in run.files for run in manifest.runs)


def is_all(manifest: Manifest) -> bool:
    """Whether a session has recorded shared lines, and nothing else."""
    return manifest.collectors == [COLLECTOR] and has_lines(manifest)
