"""The call tree of an arm64 guest against perf's call chains, sampled in the same run.

perf unwinds by frame pointers, the tree is made of branches: they share nothing.
"""

import itertools
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from support import need_program, run_guests

from profdiff.collectors.architecture import ARM64
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.initramfs import guest_resources
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.symbolization._native import SymbolIndex, disassemble, elf_code, flows

pytestmark = [pytest.mark.guest, pytest.mark.network]

# perf_event_open(2): what separates contexts in a chain.
CONTEXTS = 2**64 - 4095
USER = 2**64 - 512
IN_KERNEL = 2**63
SIGNALS = {"on_signal", "do_notify_resume", "do_signal", "__arm64_sys_rt_sigreturn"}


class Names:
    """Names of the functions at addresses, by symbols alone; and where branches lead."""

    def __init__(self, kernel: Path, program: Path) -> None:
        self._elves = kernel, program
        self._kernel, self._program = (SymbolIndex.open(str(elf)) for elf in self._elves)
        self._known: dict[int, str] = {}
        self._flows: dict[int, tuple[str, int]] = {}

    def at(self, address: int) -> str:
        if address not in self._known:
            index = self._kernel if address >= IN_KERNEL else self._program
            found = index.resolve(np.array([address], np.uint64))
            self._known[address] = found.strings[found.symbol[0]]
        return self._known[address]

    def leads(self, site: int, address: int) -> bool:
        """Whether the instruction at ``site`` is a branch or a call that leads to ``address``; one
        that takes its target from a register leads to any function."""
        flow, target = self._flow(site)
        if flow.startswith("indirect-"):
            index = self._kernel if address >= IN_KERNEL else self._program
            starts, _ = index.symbol_ranges(np.array([address], np.uint64))
            return address == int(starts[0])
        return address == target

    def returns(self, site: int) -> bool:
        """Whether the instruction at ``site`` is a return."""
        return self._flow(site)[0] == "return"

    def _flow(self, site: int) -> tuple[str, int]:
        """How an instruction leads on, and where to, 0: not known."""
        if site not in self._flows:
            elf = self._elves[site < IN_KERNEL]
            where, size = np.array([site], np.uint64), np.array([4], np.uint64)
            (code,) = elf_code(str(elf), where, size)
            row = np.frombuffer(b"\4" + code.ljust(15, b"\0"), np.uint8)
            found = disassemble(ARM64.name, where, row.reshape(1, 16))
            self._flows[site] = flows()[found.flow[0]], int(found.reference[0])
        return self._flows[site]


class Paths:
    """The call sites above each node of a tree, and the nodes in which an instruction started."""

    def __init__(self, counts: Counts, names: Names) -> None:
        self._names = names
        tree, address = counts.calls, counts.address.tolist()
        assert tree
        self.parent = tree.parent.tolist()
        self._site = [address[site] if site >= 0 else -1 for site in tree.site.tolist()]
        self._nodes: defaultdict[int, list[int]] = defaultdict(list)
        for node, place in zip(tree.node[tree.count > 0], tree.place[tree.count > 0], strict=True):
            self._nodes[address[place]].append(int(node))

    def skipped(self, chain: list[tuple[int, bool]]) -> int | None:
        """How many callers the chain leaves out of the path that is nearest to it; None: no path.

        Of each address: whether it is where an exception happened, so that the frame above it may
        be missing, because the function has none (yet).
        """
        found = [self._of_path(node, chain) for node in self._nodes[chain[0][0]]]
        return min((skipped for skipped in found if skipped is not None), default=None)

    def _of_path(self, node: int, chain: list[tuple[int, bool]]) -> int | None:
        skipped = {node: 0}
        for (_, exception), (address, interrupted) in itertools.pairwise(chain):
            callers: dict[int, int] = {}
            for node, number in skipped.items():
                above = self.parent[node]
                if self._called_from(node, address, interrupted):
                    callers[above] = min(number, callers.get(above, number))
                # What has just returned is the tree's innermost until its caller goes on.
                missing = exception or (interrupted and self._names.returns(self._site[node]))
                if missing and self._called_from(above, address, interrupted):
                    callers.setdefault(self.parent[above], number + 1)
            skipped = callers
        return min(skipped.values(), default=None)

    def _called_from(self, node: int, address: int, interrupted: bool) -> bool:
        """A chain has addresses behind calls. Of an exception it has the instruction that would be
        next, and the tree the one that was last: itself, the one before it, or a branch to it."""
        if node <= 0 or self._site[node] < 0:
            return False
        site = self._site[node]
        return address - site in (0, 4) or (interrupted and self._names.leads(site, address))


def read(line: str, names: Names) -> list[tuple[int, bool]]:
    """A chain as perf gives it: addresses, and whether an exception happened there.

    A signal's handler begins a stack of its own in the tree, and so does what its end calls, where
    perf goes on with what was interrupted; and who delivers a signal, or ends it, gives the user's
    registers other values. A chain ends there.
    """
    chain: list[tuple[int, bool]] = []
    exception = False
    for address in (int(word, 16) for word in line.split()):
        if address >= CONTEXTS:
            exception = True
            continue
        name = names.at(address)
        if not name and not exception:
            break  # a handler's caller in perf's chains
        chain.append((address, exception))
        # Without a name: the vDSO, which a handler returns to, and which calls sigreturn.
        if name in SIGNALS or not name:
            break
        exception = name.startswith("el1h_64_") and not name.endswith("_handler")
    return chain


def test_each_of_perfs_chains_is_a_path_of_the_tree(
    arm64_qemu: Qemu, arm64_kernel: KernelFiles, tmp_path: Path
) -> None:
    program = tmp_path / "chains"
    compiler = need_program(ARM64.compiler, ARM64.packages[ARM64.compiler])
    source = Path(__file__).with_name("arm64_chains.c")
    flags = ["-O2", "-g", "-static", "-fno-omit-frame-pointer", f"-I{guest_resources()}"]
    subprocess.run(
        [compiler, *flags, "-Wall", "-Wextra", "-Werror", source, "-o", program], check=True
    )
    (run,) = run_guests(arm64_qemu, arm64_kernel.image, [str(program)], tmp_path / "g", count=1)
    assert run.failure is None, (tmp_path / "g/0/stderr").read_text()
    assert run.counts
    assert run.counts.calls
    assert run.counts.calls.unequal(run.counts.count) == 0
    assert arm64_kernel.debug_elf
    names = Names(arm64_kernel.debug_elf, program)
    paths = Paths(run.counts, names)
    found: Counter[tuple[bool, int | None]] = Counter()
    wrong = []
    functions = set()
    for line in (tmp_path / "g/0/stdout").read_text().splitlines():
        chain = read(line, names)
        skipped = paths.skipped(chain)
        found[chain[0][0] >= IN_KERNEL, skipped] += 1
        functions |= {names.at(address) for address, _ in chain}
        if skipped is None:
            wrong.append([f"{address:x} {names.at(address)}" for address, _ in chain])
    assert not wrong, (found, wrong[:3])
    # Those without a missing frame are many, too.
    assert found[True, 0] > 50
    assert sum(count for (kernel, _), count in found.items() if kernel) > 300
    reached = {"do_mprotect_pkey", "do_anonymous_page", "kernel_clone", "vfs_write", "proc_readdir"}
    assert functions > reached, found
