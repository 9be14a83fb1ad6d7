"""64-bit RISC-V."""

import struct

from profdiff.collectors.architecture.entry import HEAD, Architecture


def _riscv64_memory(head: bytes) -> int:
    """Documentation/arch/riscv/boot-image-header.rst: text_offset and image_size. QEMU puts a
    kernel 2 MiB into memory, behind its firmware (hw/riscv/boot.c)."""
    if len(head) < HEAD:
        return 0
    _offset, size = struct.unpack_from("<QQ", head, 8)
    return int(size) + (2 << 20) if size < 1 << 32 else 0


RISCV64 = Architecture(
    name="riscv64",
    arch="riscv64",
    make="riscv",
    told="riscv64",
    elf="EM_RISCV",
    debian="riscv64",
    triplet="riscv64-linux-gnu",
    ldconfig="double-float",
    loader_flags=0x1003,
    qemu_package="qemu-system-misc",
    suite="trixie",
    flavour="riscv64",
    machine="virt",
    large_machine="virt",
    cpu="rv64",
    features=(),
    flaw=None,
    loop=None,
    console="ttyS0",
    channel="/dev/ttyS1",
    channel_device=("-device", "pci-serial,chardev=channel"),
    firmware=("opensbi-riscv64-generic-fw_dynamic.bin",),
    # QEMU does not say that it sleeps: it is behind a wfi.
    asleep=(r"^ pc +([0-9a-f]{16})", "10500073"),
    # hw/intc/riscv_aclint.c and target/riscv/time_helper.c of QEMU 7.2.
    loses_timers=True,
    # Under -icount they wait for each other in OpenSBI (QEMU 7.2).
    one_vcpu=True,
    images=tuple(
        f"{folder}{name}"
        for folder in ("", "arch/riscv/boot/")
        for name in ("Image", "vmlinuz.efi")
    ),
    # Documentation/arch/riscv/boot-image-header.rst
    magic=(48, b"RISCV\0\0\0RSC\x05"),
    image_is_elf=False,
    image_memory=_riscv64_memory,
    config="""\
CONFIG_64BIT=y
CONFIG_SERIAL_OF_PLATFORM=y
CONFIG_SERIAL_8250_PCI=y
CONFIG_PCI_HOST_GENERIC=y
CONFIG_VMAP_STACK=y
CONFIG_SPARSEMEM_VMEMMAP=y
""",
    needed={
        "CONFIG_SERIAL_OF_PLATFORM": "its console",
        "CONFIG_PCI": "PCI",
        "CONFIG_SERIAL_8250_PCI": "a serial port on PCI",
    },
    marks=(b"\x13\x20\x10\x49", b"\x13\x20\x20\x49"),
    calls=("jal", "jalr"),
    interrupts="do_irq",
    vectors=None,
    beginnings="ret_from_fork\\w*",
    roots=("handle_exception", "do_trap_ecall_u"),
    oops="Oops - ",
    fault="epc : ",
)
