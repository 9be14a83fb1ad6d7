use super::memory::{access, Access};
use crate::{Class, Classes, Flow};

/// The kind of an instruction.
pub(super) fn classes(word: u32, operation: &str, flow: Flow, vector: bool) -> Classes {
    // A prefetch is encoded among SVE's loads.
    let access = if operation.starts_with("prf") {
        Access::default()
    } else {
        access(word)
    };
    Classes::default()
        .with(Class::Load, access.load)
        .with(Class::Store, access.store)
        .with(Class::Locked, access.atomic)
        .with(Class::Serialising, is_serialising(word))
        .with(Class::Privileged, is_privileged(word))
        .with(Class::Division, is_division(operation))
        .with(Class::Repeated, is_copy(word))
        .with(Class::Call, flow == Flow::Call)
        .with(Class::IndirectCall, flow == Flow::IndirectCall)
        .with(Class::IndirectJump, flow == Flow::IndirectJump)
        .with(Class::Conditional, flow == Flow::Conditional)
        .with(Class::Vector, vector)
}

/// ISB, DSB, and returns from exceptions.
fn is_serialising(word: u32) -> bool {
    let barrier = word & 0xffff_f01f == 0xd503_301f && matches!(word >> 5 & 0b111, 4 | 6);
    let nxs = word & 0xffff_f3ff == 0xd503_323f;
    barrier || nxs || is_exception_return(word)
}

/// ERET, ERETAA, ERETAB, DRPS.
fn is_exception_return(word: u32) -> bool {
    word >> 25 == 0b110_1011 && word >> 21 & 0b111 >= 0b100
}

/// What user mode cannot do under Linux: other registers and operations than those of EL0, interrupt
/// masks, calls of firmware and hypervisor, returns from exceptions.
fn is_privileged(word: u32) -> bool {
    const EL0: u32 = 3;
    let operation = word >> 16 & 0b111;
    // MSR and MRS; interrupt masks are of EL0, but Linux does not let it change them.
    if word & 0xffd0_0000 == 0xd510_0000 {
        return operation != EL0 || word & 0xffdf_ffe0 == 0xd51b_4220;
    }
    // SYS and SYSL: caches, address translation, TLBs.
    if word & 0xffd8_0000 == 0xd508_0000 {
        return operation != EL0;
    }
    // MSR (immediate): UAO, PAN, SPSel; DAIFSet, DAIFClr.
    if word & 0xfff8_f01f == 0xd500_401f {
        let field = word >> 5 & 0b111;
        return operation == 0 && field >= 3 || operation == EL0 && field >= 6;
    }
    // HVC, SMC.
    let firmware = word & 0xffe0_001f;
    matches!(firmware, 0xd400_0002 | 0xd400_0003) || is_exception_return(word)
}

fn is_division(operation: &str) -> bool {
    matches!(
        operation,
        "udiv" | "sdiv" | "fdiv" | "udivr" | "sdivr" | "fdivr"
    )
}

/// Memory copies and sets (FEAT_MOPS), each of whose three steps may repeat.
fn is_copy(word: u32) -> bool {
    word & 0x3b20_0c00 == 0x1900_0400
}
