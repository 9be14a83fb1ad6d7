"""Small source trees that are built as Linux is, in a second, into kernels that boot.

``make`` in such a tree really configures and compiles, out of tree, with the arguments that Linux
takes. What it gives as image and vmlinux are those of a fixture kernel, which the tracked file
``which`` names: one more line, ``CONFIG_X=y NAME``, holds where the config has that line.
``broken`` does not compile. ``own`` needs no fixtures and does not boot: its vmlinux is what was
compiled.

    repository = made_repository.make(folder, {
        "good": Made(small_linux.tree("v6.12.107")),
        "bad": Made(small_linux.tree("v6.18.15"), ["good"], "mm: make it slower"),
    })
    spec = f"git:{folder}@bad"

Call ``small_linux.kernels(monkeypatch)`` first, or set SMALL_LINUX_KERNELS: the folder that holds
the fixture kernels.
"""

from pathlib import Path

import pytest
from support import need_kernel, need_program

MAKEFILE = r"""
O := .
ARCH := x86_64
CC := gcc
OBJCOPY := objcopy
KCFLAGS :=
obj := $(abspath $(O))
# As Kbuild names sources: relative to a folder of object files that lies in the tree.
srctree := $(if $(filter $(CURDIR)/,$(dir $(obj))),..,$(CURDIR))
cflags := -g -ffreestanding -fno-pie -O2 -I$(srctree)/include $(KCFLAGS)
which := $(shell name=; while read -r first second; do \
	if [ -z "$$second" ]; then name=$$first; \
	elif grep -qxF "$$first" $(obj)/.config 2>/dev/null; then name=$$second; fi; \
	done < which; echo $$name)
image := $(if $(filter arm64,$(ARCH)),arch/arm64/boot/Image,arch/x86/boot/bzImage)

all: $(obj)/$(image)
bzImage Image: $(obj)/$(image)
vmlinux: $(obj)/vmlinux

kernelversion:
	@cat version

tinyconfig allnoconfig:
	@mkdir -p $(obj)
	@cp tiny.config $(obj)/.config
	@echo "#"

# What the tree does not have goes, as Kconfig does it.
olddefconfig:
	@cp $(obj)/.config $(obj)/.config.old
	@grep -vEf Kconfig.absent $(obj)/.config.old > $(obj)/.config || true

# Only another config makes objects anew, as Kbuild does it.
$(obj)/include/config/auto.conf: FORCE
	@mkdir -p $(@D)
	@cp version $(@D)/kernel.release
	@cmp -s $(obj)/.config $@ || cp $(obj)/.config $@

# And other flags, as if_changed of Kbuild does it.
$(obj)/.flags: FORCE
	@mkdir -p $(@D)
	@echo '$(KCFLAGS)' | cmp -s - $@ || echo '$(KCFLAGS)' > $@

FORCE:

$(obj)/mm/%.o: mm/%.c $(obj)/include/config/auto.conf include/small.h which $(obj)/.flags
	@mkdir -p $(@D)
	@echo "  CC      mm/$*.o"
	@cd $(obj) && $(CC) $(cflags) $(if $(filter broken,$(which)),-DBROKEN) \
		-c -o mm/$*.o $(srctree)/mm/$*.c

# One object file, named as Kbuild's are.
mm/%.o: $(obj)/mm/%.o
	@:

$(obj)/vmlinux: $(patsubst mm/%.c,$(obj)/mm/%.o,$(sort $(wildcard mm/*.c)))
	@echo "  LD      vmlinux"
	@if [ "$(which)" = own ]; then \
		$(CC) -nostdlib -static -no-pie -Wl,--build-id -Wl,-e,0 -o $@ $^; \
	else cp "$(SMALL_LINUX_KERNELS)/$(which)/vmlinux" $@; fi

$(obj)/$(image): $(obj)/vmlinux
	@mkdir -p $(@D)
	@echo "  BUILD   $(image)"
	@if [ "$(which)" != own ]; then cp "$(SMALL_LINUX_KERNELS)/$(which)/bzImage" $@; \
	elif [ "$(ARCH)" = arm64 ]; then printf '%056dARMd' 0 > $@; else cp $^ $@; fi
"""
MPROTECT = """\
#include "small.h"

#ifdef BROKEN
int change_protection(void) { return there_is_no_such_variable; }
#else
int change_protection(void) { return PAGES; }
#endif
"""


def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the trees find the fixture kernels; skips the test where they are not here."""
    need_program("make")
    monkeypatch.setenv("SMALL_LINUX_KERNELS", str(kernels_folder()))


def kernels_folder() -> Path:
    """The folder with all fixture kernels, each unpacked; skips the test where one is not here."""
    folders = [need_kernel(name) for name in ("v6.12.107", "v6.18.15", "v7.1.8")]
    return folders[0].parent


def tree(
    which: str = "own", *more: str, absent: tuple[str, ...] = (), **files: str
) -> dict[str, str]:
    """The files of a tree whose kernel is ``which``; ``more``: lines of that file for configs.
    ``absent``: options that it lacks. ``files``: more files, or others, with ``__`` for ``/`` and
    ``_dot_`` for a dot: ``mm__mprotect_dot_c``."""
    named = {
        name.replace("__", "/").replace("_dot_", "."): content for name, content in files.items()
    }
    return {
        "Makefile": MAKEFILE,
        "which": "".join(f"{line}\n" for line in (which, *more)),
        "version": f"{which.removeprefix('v')}\n" if which[0] == "v" else "6.12.0\n",
        "tiny.config": "CONFIG_TINY=y\n# CONFIG_LARGE is not set\n",
        # The first pattern matches nothing: an empty file would keep nothing.
        "Kconfig.absent": "".join(
            f"^(# )?{option}[ =]\n" for option in ("CONFIG_NEVER_WAS", *absent)
        ),
        "include/small.h": "#define PAGES 1\n",
        "mm/mprotect.c": MPROTECT,
        ".gitignore": "*.o\n",
    } | named


def built(folder: Path) -> list[str]:
    """The object files below a folder, for tests of what was compiled."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.o"))
