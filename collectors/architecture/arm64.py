"""64-bit Arm."""

import struct

from profdiff.collectors.architecture.entry import HEAD, Architecture, Vectors


def _arm64_memory(head: bytes) -> int:
    """Documentation/arch/arm64/booting.rst: text_offset and image_size. QEMU puts a kernel without
    an offset 2 MiB into memory (hw/arm/boot.c)."""
    if len(head) < HEAD:
        return 0
    offset, size = struct.unpack_from("<QQ", head, 8)
    return int(size) + (int(offset) or 2 << 20) if size < 1 << 32 and offset < 1 << 32 else 0


ARM64 = Architecture(
    name="aarch64",
    arch="arm64",
    make="arm64",
    told="arm64",
    elf="EM_AARCH64",
    debian="arm64",
    triplet="aarch64-linux-gnu",
    ldconfig="AArch64",
    loader_flags=0x0A03,
    qemu_package="qemu-system-arm",
    suite="bookworm",
    flavour="cloud-arm64",
    machine="virt",
    # The older interrupt controller is for 8. Newer QEMUs do so by themselves.
    large_machine="virt,gic-version=3",
    # Arm's default algorithm of pointer authentication takes most of the time.
    cpu="max,pauth-impdef=on",
    features=(),
    flaw=None,
    loop=None,
    console="ttyAMA0",
    channel="/dev/ttyS0",
    channel_device=("-device", "pci-serial,chardev=channel"),
    firmware=(),
    # QEMU does not say that it sleeps: it is behind a wfi.
    asleep=(r"\bPC=([0-9a-f]{16})\b", "d503207f"),
    loses_timers=False,
    one_vcpu=False,
    images=tuple(
        f"{folder}{name}"
        for folder in ("", "arch/arm64/boot/")
        for name in ("Image", "Image.gz", "vmlinuz.efi")
    ),
    # Documentation/arch/arm64/booting.rst
    magic=(56, b"ARMd"),
    image_is_elf=False,
    image_memory=_arm64_memory,
    config="""\
CONFIG_SERIAL_AMBA_PL011=y
CONFIG_SERIAL_AMBA_PL011_CONSOLE=y
CONFIG_SERIAL_8250_PCI=y
CONFIG_PCI_HOST_GENERIC=y
CONFIG_ARM64_4K_PAGES=y
CONFIG_VMAP_STACK=y
CONFIG_SPARSEMEM_VMEMMAP=y
""",
    needed={
        "CONFIG_SERIAL_AMBA_PL011_CONSOLE": "its console",
        "CONFIG_PCI": "PCI",
        "CONFIG_SERIAL_8250_PCI": "a serial port on PCI",
    },
    marks=(b"\x3f\x20\xe9\xd2", b"\x5f\x20\xe9\xd2"),
    calls=("bl ", "blr "),
    interrupts="",
    # They have 16 entries each, and every second and third is for interrupts (IRQ, FIQ):
    # arch/arm64/kernel/entry.S, SYM_CODE_START(vectors).
    vectors=Vectors(r"vectors|tramp_vectors|__bp_harden_el1_vectors", 0x200, (0x080, 0x100)),
    # entry.S, as above.
    beginnings="ret_from_fork|ret_to_user",
    # arch/arm64/kernel/entry-common.c and syscall.c.
    roots=(
        *("el0t_64_sync", "el0t_64_sync_handler", "el0_svc", "do_el0_svc", "el0_svc_common"),
        *("invoke_syscall", "__invoke_syscall"),
    ),
    # arch/arm64/mm/fault.c.
    oops="Internal error: ",
    fault="pc : ",
)
