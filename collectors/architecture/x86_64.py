"""x86-64.

What tells a QEMU that loses x86-64's flags behind ``cmpxchg16b`` from one that keeps them.

Until QEMU 8.0 (5f0dd8cd33cb), the translator does not store which operation
set the flags before it calls ``helper_cmpxchg16b()``, which computes them (target/i386/tcg/): of
the flags behind it ZF is right, and the others can be bits of an operand. Compilers read ZF alone,
but what interrupts the guest there saves all of them, and ``iret`` takes them back: with VM or NT
among them, the kernel panics, some time after a kmalloc().
"""

import struct

from profdiff.collectors.architecture.entry import HEAD, Architecture, Firmware, Flaw

# In real mode, at f000:0000. Memory is zero.
_CODE = """
31 c0                           xor     %ax,%ax
8e d8                           mov     %ax,%ds
66 c7 06 00 10 03 20 00 00      movl    $0x2003,0x1000      # one page of 2 MiB
66 c7 06 00 20 03 30 00 00      movl    $0x3003,0x2000
66 c7 06 00 30 83 00 00 00      movl    $0x83,0x3000
66 b8 20 00 00 00               mov     $0x20,%eax          # PAE
0f 22 e0                        mov     %eax,%cr4
66 b8 00 10 00 00               mov     $0x1000,%eax
0f 22 d8                        mov     %eax,%cr3
66 b9 80 00 00 c0               mov     $0xc0000080,%ecx    # EFER.LME
0f 32                           rdmsr
0d 00 01                        or      $0x100,%ax
0f 30                           wrmsr
2e 66 0f 01 16 a0 00            lgdtl   %cs:0xa0
66 b8 11 00 00 80               mov     $0x80000011,%eax    # PG, ET, PE
0f 22 c0                        mov     %eax,%cr0
66 ea 56 00 0f 00 08 00         ljmpl   $0x8,$0xf0056       # to 64-bit mode
bc 00 80 00 00                  mov     $0x8000,%esp
31 c0                           xor     %eax,%eax
31 d2                           xor     %edx,%edx
bf 00 40 00 00                  mov     $0x4000,%edi
be 01 00 00 00                  mov     $0x1,%esi
41 b8 00 41 00 00               mov     $0x4100,%r8d        # as flags, NT and TF
6a 02                           push    $0x2
9d                              popf                        # ends a block: flags are flags
4c 29 c6                        sub     %r8,%rsi            # SF and CF
f0 48 0f c7 0f                  lock cmpxchg16b (%rdi)      # ZF
9c                              pushf
58                              pop     %rax
3d c3 00 00 00                  cmp     $0xc3,%eax          # SF, ZF, CF, and the bit that is 1
0f 95 c0                        setne   %al
04 10                           add     $0x10,%al
e6 f4                           out     %al,$0xf4           # ends QEMU with 2 * %al + 1
f4                              hlt
"""
# What the code's lgdt loads: a null descriptor, and a segment of 64-bit code.
_DESCRIPTORS, _AT = "00 00 00 00 00 00 00 00 00 00 00 00 00 9a 20 00", 0x90
_TABLE, _TABLE_AT = "0f 00 90 00 0f 00", 0xA0
# Where a processor begins: ljmp $0xf000,$0.
_RESET, _RESET_AT = "ea 00 00 00 f0", 0xFFF0


# In real mode, too: 200 million instructions, a tenth of a second on a processor.
_LOOP = """
66 b9 00 e1 f5 05               mov     $100000000,%ecx
66 49                           dec     %ecx
75 fc                           jnz     .-2
b0 10                           mov     $0x10,%al
e6 f4                           out     %al,$0xf4
f4                              hlt
"""


def _firmware(listing: str) -> Firmware:
    code = "".join(line[:32] for line in listing.splitlines())
    rom = bytearray(0x10000)
    placed = ((code, 0), (_DESCRIPTORS, _AT), (_TABLE, _TABLE_AT), (_RESET, _RESET_AT))
    for text, at in placed:
        content = bytes.fromhex(text)
        rom[at : at + len(content)] = content
    return Firmware(bytes(rom), ("-device", "isa-debug-exit,iobase=0xf4,iosize=1"), right=0x21)


CMPXCHG16B = Flaw(
    feature="cx16",
    told="the flags behind cmpxchg16b",
    firmware=_firmware(_CODE),
)


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
    loop=_firmware(_LOOP),
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
