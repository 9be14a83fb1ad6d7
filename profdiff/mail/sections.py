"""The parts of a mail that can be left out."""

# In the order in which they stand, with what they hold.
SECTIONS = {
    "result": "the table of points, metrics or kernels",
    "bisection": "the commit that profdiff bisect found, and what its revert shows",
    "fits": "what the kernel costs more as a line over the sweep",
    "gaps": "how much later kernels win back of what the second one costs more",
    "functions": "the functions that changed most",
    "paths": "the call paths that carry most of the change, where they are at most three",
    "programs": "how user space and the kernel change, where --variant gave programs",
    "events": "events of the kernel, where one changed by more than the instructions did",
    "memory": "memory that the kernel keeps more or less of, recorded with --allocations",
    "prices": "what the change that would cost most costs, where the session has prices.json",
    "suspects": "commits whose lines executed more or less, with --repo",
    "measured": "how it was measured",
    "state": "what of the kernels' state is the same; differences are always said",
    "config": "config options that differ",
    "reproducer": "the command line and the source",
}
