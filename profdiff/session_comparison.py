"""From a session to its comparison: counts and chains of each kernel, compared."""

import numpy as np

from profdiff.comparison import Comparison
from profdiff.profile import Profile
from profdiff.session import Session
from profdiff.session_symbols import chains


def compare(session: Session) -> Comparison:
    """The comparison of all kernels of ``session`` that have a result.

    Raises SessionError when the base has none, or a file of the session is damaged.
    """
    profiles = {}
    for kernel in session.manifest.kernels:
        runs = session.finished(kernel.label)
        if not runs:
            continue
        places = session.places(kernel.label)
        counts = np.stack([session.counts(run, places) for run in runs], axis=1)
        profiles[kernel.label] = Profile.from_chains(chains(session, kernel.label), counts)
    return Comparison.build(session.manifest, profiles)
