"""objdump's instructions, and what their text says of them."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Listing:
    """Instructions one behind the other: addresses, bytes, text without symbols and comments."""

    addresses: NDArray[np.uint64]
    code: list[bytes]
    texts: list[str]


def listing(objdump: str, elf: Path, *arguments: str) -> Listing:
    """Of a file's code, or a part of it."""
    command = [objdump, "-d", "-w", *arguments, str(elf)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    addresses, code, texts = [], [], []
    for line in done.stdout.splitlines():
        address, *columns = line.split("\t")
        if not columns or not re.fullmatch(r"\s*[0-9a-f]+:", address):
            continue
        digits = columns[0].strip().split(" ")
        # Words of arm64 and riscv64 are written as numbers, x86-64's bytes as they lie.
        code.append(b"".join(bytes.fromhex(one)[:: -1 if len(one) > 2 else 1] for one in digits))
        addresses.append(int(address.strip()[:-1], 16))
        texts.append(_text(" ".join(columns[1:])))
    return Listing(np.array(addresses, np.uint64), code, texts)


def _text(told: str) -> str:
    """Beside %rip, the address in place of the distance to it."""
    target = re.search(r"# (?:0x)?([0-9a-f]+)", told)
    text = re.sub(r"\s*(#\s|//).*$", "", told)
    text = re.sub(r"\s*<[^>]*>", "", text)
    if target:
        text = re.sub(r"-?0x[0-9a-f]+\(%rip\)", f"0x{target[1]}(%rip)", text)
    return re.sub(r"\s+", " ", text).strip()


def with_reference(text: str, reference: int) -> str:
    """objdump's text with the address that profdiff found in it written as profdiff writes it: an
    unsigned number with 0x."""
    if not reference:
        return text
    text = re.sub(rf"(?<![0-9a-fx]){reference:x}$", f"{reference:#x}", text)
    return text.replace(f"-{(1 << 64) - reference:#x}(", f"{reference:#x}(")


_PREFIX = r"(?:(?:cs|ds|data16|lock|rep|repz|repnz|notrack|bnd) )*"
_FLOWS = {
    "indirect-call": r"call \*|blra?\w* x|jalr (?!t1,)",
    "indirect-jump": r"jmp \*|bra?\w* x|jr (?!t0\b)|jalr t1,",
    "call": r"call|bl |jal ",
    "jump": r"jmp|b |j ",
    "conditional": r"j(?!mp|r )\w+|loop\w* |b\.\w+|cbn?z|tbn?z|b(eq|ne|lt|ge|le|gt)[uz]* ",
    "return": r"l?ret\b|reta[ab]|jr t0$",
    "leave": r"iret|sysret|eret|drps|rsm|[sm]ret",
    "enter": r"syscall|sysenter|int|ud[012]|svc|hvc|smc|brk|hlt #|udf|vmcall|vmmcall"
    r"|ecall|ebreak|unimp",
}


def flow(text: str) -> str:
    """Of an instruction, by its name."""
    for name, pattern in _FLOWS.items():
        if re.match(_PREFIX + rf"(?:{pattern})", text):
            return name
    return "next"


_X86_CLASSES = {
    "locked": r"lock |xchg .*\(",
    "serialising": r"(cpuid|iret[ql]?|wrmsr|invlpg|invept|invvpid|wbinvd|invd|l[gi]dt|lldt|ltr"
    r"|serialize|rsm)\b|mov .*,%cr[0-7]$|mov .*,%d[br]\d$",
    "privileged": r"(cli|sti|hlt|rdmsr|wrmsr|invlpg|invpcid|wbinvd|invd|l[gi]dt|lldt|ltr|lmsw|clts"
    r"|swapgs|sysret[ql]?|in|out|ins[bwl]|outs[bwl]|xsetbv|rsm|monitor|mwait|wbnoinvd|sysexit)\b"
    r"|mov .*%(cr|dr|db)",
    "division": r"i?div[bwlq]? |v?div[sp][sd] |f\w*div",
    "repeated": r"repn?z? (movs|stos|lods|scas|cmps|ins|outs)",
    "call": r"call [^*]",
    "indirect-call": r"call \*",
    "indirect-jump": r"jmp \*",
    "conditional": r"j(?!mp)|loop",
    "vector": r".*%[xyz]mm|vzero",
}
_SOURCES = r"(mov|movs[bwl][wlq]|movz[bw][wlq]|add|sub|and|or|xor|cmp|test|imul|cmov\w+|adc|sbb)"


def x86_classes(text: str) -> tuple[set[str], bool]:
    """Of an instruction by its text, and whether load and store are known of it."""
    kinds = {name for name, pattern in _X86_CLASSES.items() if re.match(pattern, text)}
    operation = re.sub(rf"^{_PREFIX}", "", text)
    name = operation.split(" ")[0]
    if re.fullmatch(r"lea\w?|nop\w?|jmp|j\w+|set\w+", name) and "(" not in operation[4:]:
        return kinds, True
    if re.fullmatch(r"lea[lqw]?|nop[lw]?|prefetch\w+", name):
        return kinds, True
    if name in ("push", "pop", "ret", "call", "leave"):
        store, load = name in ("push", "call"), name in ("pop", "ret", "leave")
        if "(" in operation or re.search(r"\*%[fg]s:", operation):
            store, load = name in ("push", "call", "pop"), True
        return kinds | ({"store"} if store else set()) | ({"load"} if load else set()), True
    simple = re.fullmatch(rf"{_SOURCES}[bwlq]?", name)
    if not simple or re.search(r"%(cr|dr|db)\d", operation):
        return kinds, False
    from_memory = re.search(r"\).*,%\w+$|:0x[0-9a-f]+,%\w+$", operation)
    to_memory = re.search(r"[),]$|:0x[0-9a-f]+$|\)$", operation)
    if to_memory or from_memory:
        kinds |= {"load"} if from_memory or not name.startswith("mov") else set()
        kinds |= {"store"} if to_memory and not re.match("cmp|test", name) else set()
    return kinds, not re.search(
        r"[ ,]0x[0-9a-f]+$|0x[0-9a-f]+,%\w+$", re.sub(r"\$\S*?,", "", operation)
    )
