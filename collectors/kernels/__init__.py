"""From a spec to a kernel's files, or to the machine that runs it."""
