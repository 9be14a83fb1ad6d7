"""All targets: one file for each reader or family of readers."""

from fuzz.target import Target
from fuzz.targets import (
    accesses,
    code,
    counts,
    elf,
    events,
    experiment,
    guest,
    kernel,
    lab,
    mail,
    perf,
    probes,
    session,
    sharing,
    sources,
    texts,
    traces,
    types,
)

TARGETS: tuple[Target, ...] = (
    *perf.TARGETS,
    *elf.TARGETS,
    *code.TARGETS,
    *kernel.TARGETS,
    *counts.TARGETS,
    *guest.TARGETS,
    *mail.TARGETS,
    *session.TARGETS,
    *experiment.TARGETS,
    *sources.TARGETS,
    *texts.TARGETS,
    *types.TARGETS,
    *accesses.TARGETS,
    *sharing.TARGETS,
    *traces.TARGETS,
    *probes.TARGETS,
    *events.TARGETS,
    *lab.TARGETS,
)
