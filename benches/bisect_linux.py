"""A real bisection: a Linux tree, fourteen commits in mm/, one of which makes change_pte_range()
longer.

    python benches/bisect_linux.py SOURCE FOLDER [--no-suspects]

SOURCE: a tree, or a tarball of one, such as Debian's linux-source-6.12.tar.xz; 6.12 is what the
commits were written for. FOLDER gets the repository and the bisection, and is used again. Prints
what profdiff bisect says, and how long it took. Exits with 1 where it names another commit, or the
revert does not undo it. A cold build takes ten minutes or more on two cores.
"""

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from profdiff.session.session import Session

ROOT = Path(__file__).resolve().parent.parent
WORKLOAD = ROOT / "examples/mprotect-pte-batching/mprotect-toggle.c"
CULPRIT = "mm/mprotect: leave pinned pages of private mappings alone"


@dataclass(frozen=True)
class Change:
    """A commit: in ``file`` of mm/, each ``old`` text becomes the new one behind it."""

    subject: str
    file: str
    edits: tuple[tuple[str, str], ...]


def _comment(subject: str, file: str, before: str, text: str) -> Change:
    """A comment in a line of its own before a line that begins with ``before``."""
    return Change(subject, file, ((f"\n{before}", f"\n/* {text} */\n{before}"),))


_TAKEN = "	bool prot_numa = cp_flags & MM_CP_PROT_NUMA;\n	bool uffd_wp = cp_flags"
_START = "			oldpte = ptep_modify_prot_start(vma, addr, pte);\n"
_LOOKED_UP = """\
			if (!prot_numa && is_cow_mapping(vma->vm_flags)) {
				struct folio *pinned = vm_normal_folio(vma, addr, oldpte);

				if (pinned && folio_maybe_dma_pinned(pinned))
					folio_set_dirty(pinned);
			}

"""
CHANGES = (
    _comment("mm/mincore: say what the vector holds", "mincore.c", "static int mincore_hugetlb(",
             "One byte of the vector for each page: bit 0 says that it is resident."),
    Change("mm/mprotect: name the pages that were changed", "mprotect.c",
           (("	long pages = 0;\n	int target_node",
             "	long pages = 0;	/* changed, not merely looked at */\n	int target_node"),)),
    Change("mm/madvise: expect advice that exists", "madvise.c",
           (("	if (!madvise_behavior_valid(behavior))",
             "	if (unlikely(!madvise_behavior_valid(behavior)))"),)),
    _comment("mm/mlock: tell apart the two limits", "mlock.c", "bool can_do_mlock(void)",
             "Without CAP_IPC_LOCK, RLIMIT_MEMLOCK is the limit."),
    Change("mm/mprotect: take the mm once in change_pte_range()", "mprotect.c",
           ((_TAKEN, f"	struct mm_struct *mm = vma->vm_mm;\n{_TAKEN}"),
            ("	pte = pte_offset_map_lock(vma->vm_mm, pmd, addr, &ptl);\n	if (!pte)\n"
             "		return -EAGAIN;\n\n	/* Get target node",
             "	pte = pte_offset_map_lock(mm, pmd, addr, &ptl);\n	if (!pte)\n"
             "		return -EAGAIN;\n\n	/* Get target node"),
            ("	flush_tlb_batched_pending(vma->vm_mm);\n	arch_enter_lazy_mmu_mode();\n"
             "	do {\n		oldpte = ptep_get(pte);",
             "	flush_tlb_batched_pending(mm);\n	arch_enter_lazy_mmu_mode();\n"
             "	do {\n		oldpte = ptep_get(pte);"))),
    _comment("mm/msync: a word on MS_ASYNC", "msync.c", "SYSCALL_DEFINE3(msync",
             "MS_ASYNC does nothing but check its range."),
    _comment("mm/mremap: say why a move may fail late", "mremap.c", "static pmd_t *get_old_pmd(",
             "Page tables may be gone where nothing was ever mapped."),
    Change(CULPRIT, "mprotect.c", ((_START, f"{_LOOKED_UP}{_START}"),)),
    _comment("mm/mmap: a comment on brk's lower end", "mmap.c", "SYSCALL_DEFINE1(brk",
             "brk(2): the heap's end; its lower end is mm->start_brk, or end_data."),
    Change("mm/mprotect: PTEs map pages of the base size", "mprotect.c",
           (("	tlb_change_page_size(tlb, PAGE_SIZE);\n	pte = pte_offset_map_lock(mm",
             "	/* PTEs map pages of the base size. */\n"
             "	tlb_change_page_size(tlb, PAGE_SIZE);\n	pte = pte_offset_map_lock(mm"),)),
    _comment("mm/swap: what marking twice does", "swap.c", "void folio_mark_accessed(",
             "Twice in a row makes an inactive folio active."),
    Change("mm/mincore: a byte of the vector", "mincore.c",
           (("/* One byte of the vector", "/* A byte of the vector"),)),
    _comment("mm/madvise: a comment on MADV_COLD", "madvise.c", "static long madvise_cold(",
             "MADV_COLD moves pages to the inactive list; it frees none."),
    Change("mm/mremap: expect old addresses that are aligned", "mremap.c",
           (("	if (offset_in_page(addr))\n", "	if (unlikely(offset_in_page(addr)))\n"),)),
)  # fmt: skip


def git(folder: Path, *words: str) -> str:
    """What git says there, with an author of its own."""
    who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def repository(source: Path, folder: Path) -> None:
    """Linux as its first commit, ``base``, and ``CHANGES`` on top."""
    folder.mkdir(parents=True)
    if source.is_dir():
        subprocess.run(["cp", "-a", f"{source}/.", str(folder)], check=True)
    else:
        subprocess.run(
            ["tar", "-xf", str(source), "-C", str(folder), "--strip-components=1"], check=True
        )
    git(folder, "init", "-q", "-b", "topic")
    # Debian's .gitignore leaves out all but its own folder.
    git(folder, "add", "-A", "-f", ".")
    git(folder, "commit", "-q", "-m", "Linux")
    git(folder, "tag", "base")
    for change in CHANGES:
        path = folder / "mm" / change.file
        text = path.read_text()
        for old, new in change.edits:
            if old not in text:
                sys.exit(f"{path} has no {old.strip()!r}: another version of Linux")
            text = text.replace(old, new, 1)
        path.write_text(text)
        git(folder, "commit", "-qam", change.subject)


def main() -> None:
    """Make the repository unless it is there, and bisect."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path)
    given, options = parser.parse_known_args()
    linux = given.folder.absolute() / "linux"
    if not linux.exists():
        repository(given.source, linux)
    output = given.folder.absolute() / f"run-{int(time.time())}.bisect"
    command = [sys.executable, "-m", "profdiff", "bisect", "--repo", str(linux), "--good", "base"]
    command += ["--bad", "topic", "--ops", "4000", "-o", str(output), *options, "--"]
    start = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, str(WORKLOAD), "400", "40"], check=False, env=environment)
    print(f"{time.monotonic() - start:.0f} s")
    if done.returncode:
        sys.exit(done.returncode)
    found = Session.open(output / "evidence.profdiff").manifest.bisection
    assert found
    if found.culprit.subject != CULPRIT or found.revert != "confirmed":
        sys.exit(f"MISSED: {found.culprit.subject!r}, revert {found.revert}")


if __name__ == "__main__":
    main()
