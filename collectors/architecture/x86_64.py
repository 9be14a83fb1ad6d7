"""x86-64."""

import struct

from profdiff.collectors.architecture.cmpxchg16b import CMPXCHG16B
from profdiff.collectors.architecture.entry import HEAD, Architecture


def _bzimage_memory(head: bytes) -> int:
    """Documentation/arch/x86/boot.rst: HdrS at 0x202, from version 0x20a on pref_address at 0x258
    and init_size at 0x260."""
    if len(head) < HEAD or head[0x202:0x206] != b"HdrS":
        return 0
    (version,) = struct.unpack_from("<H", head, 0x206)
    address, size = struct.unpack_from("<QI", head, 0x258)
    return int(address) + int(size) if version >= 0x020A and address < 1 << 32 else 0


X86_64 = Architecture(
    name="x86_64",
    arch="x86_64",
    make="x86",
    told="x86-64",
    elf="EM_X86_64",
    debian="amd64",
    triplet="x86_64-linux-gnu",
    ldconfig="x86-64",
    loader_flags=0x0303,
    qemu_package="qemu-system-x86",
    suite="bookworm",
    flavour="cloud-amd64",
    machine="q35",
    large_machine="q35",
    cpu="max",
    features=("-rdrand", "-rdseed"),
    flaw=CMPXCHG16B,
    console="ttyS0",
    channel="/dev/ttyS1",
    channel_device=("-serial", "chardev:channel"),
    firmware=(
        "bios-256k.bin",
        "kvmvapic.bin",
        "linuxboot.bin",
        "linuxboot_dma.bin",
        "pvh.bin",
    ),
    asleep=(r"\bHLT=1\b", ""),
    loses_timers=False,
    one_vcpu=False,
    images=("bzImage", "vmlinuz", "arch/x86/boot/bzImage"),
    magic=None,
    image_is_elf=True,
    image_memory=_bzimage_memory,
    config="""\
CONFIG_64BIT=y
CONFIG_ACPI=y
CONFIG_UNWINDER_ORC=y
CONFIG_HYPERVISOR_GUEST=y
CONFIG_PARAVIRT=y
CONFIG_KVM_GUEST=y
# Unpacked in less time than tinyconfig's XZ, at each boot.
CONFIG_KERNEL_GZIP=y
CONFIG_KERNEL_XZ=n
# Drivers of hardware that guests do not have.
CONFIG_ACPI_AC=n
CONFIG_ACPI_BATTERY=n
CONFIG_ACPI_FAN=n
CONFIG_ACPI_PCC=n
CONFIG_ACPI_THERMAL=n
CONFIG_INTEL_MEI=n
CONFIG_PERF_EVENTS_INTEL_CSTATE=n
CONFIG_PERF_EVENTS_INTEL_RAPL=n
CONFIG_PERF_EVENTS_INTEL_UNCORE=n
""",
    needed={},
    marks=(b"\x0f\x1f\x80\x01IDP", b"\x0f\x1f\x80\x02IDP"),
    calls=("call",),
    # arch/x86/include/asm/idtentry.h and irq_vectors.h, arch/x86/entry/entry_64.S (before Linux
    # 5.8: *_interrupt, nmi).
    interrupts=(
        r"asm_sysvec_\w+|asm_common_interrupt|asm_spurious_interrupt|irq_entries_start|"
        r"spurious_entries_start|asm_exc_nmi|nmi|"
        r"(?:apic_timer|reschedule|call_function|call_function_single|irq_work|common)_interrupt"
    ),
    vectors=None,
    # entry_64.S, as above.
    beginnings=(
        r"ret_from_fork\w*|swapgs_restore_regs_and_return_to_usermode|common_interrupt_return|"
        r"native_irq_return_iret"
    ),
    # arch/x86/entry.
    roots=(
        *("entry_SYSCALL_64", "entry_SYSCALL_64_after_hwframe", "entry_SYSCALL_64_safe_stack"),
        *("do_syscall_64", "do_syscall_x64", "x64_sys_call", "ret_from_fork_asm"),
    ),
    # arch/x86/mm/fault.c (show_fault_oops), arch/x86/kernel/dumpstack.c and traps.c.
    oops=(
        "double fault: |general protection fault|divide error: |invalid opcode: |stack segment: |"
        "int3: "
    ),
    fault="RIP: 0010:",
)
