"""All targets: one file for each reader or family of readers."""

from fuzz.target import Target
from fuzz.targets import counts, elf, guest, kernel, mail, perf, settings, texts

TARGETS: tuple[Target, ...] = (
    *perf.TARGETS,
    *elf.TARGETS,
    *kernel.TARGETS,
    *counts.TARGETS,
    *guest.TARGETS,
    *mail.TARGETS,
    *settings.TARGETS,
    *texts.TARGETS,
)
