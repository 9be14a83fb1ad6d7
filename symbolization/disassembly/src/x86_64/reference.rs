use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// Where addresses of a kernel's or module's own code and data begin and end, which is where no
/// KASLR puts a kernel any lower (arch/x86/include/asm/page_64_types.h: 16 MiB behind
/// `__START_KERNEL_map`), and where modules end (`MODULES_END`).
const IMAGE: std::ops::Range<u64> = 0xffff_ffff_8100_0000..0xffff_ffff_ff00_0000;

/// The address that the operands name, or 0: a direct target, memory beside %rip, or an address in
/// the kernel's image, as a displacement or an immediate.
pub(super) fn reference(instruction: &Instruction) -> u64 {
    let kinds = (0..instruction.op_count()).map(|operand| (operand, instruction.op_kind(operand)));
    for (operand, kind) in kinds {
        let found = match kind {
            OpKind::NearBranch64 => instruction.near_branch64(),
            OpKind::Memory => memory(instruction),
            OpKind::Immediate32to64 | OpKind::Immediate64 if is_arithmetic(instruction) => {
                instruction
                    .try_immediate(operand)
                    .ok()
                    .filter(|value| IMAGE.contains(value))
                    .unwrap_or(0)
            }
            _ => 0,
        };
        if found != 0 {
            return found;
        }
    }
    0
}

fn memory(instruction: &Instruction) -> u64 {
    let displacement = instruction.memory_displacement64();
    if instruction.is_ip_rel_memory_operand() {
        return displacement;
    }
    let absolute =
        instruction.memory_base() == Register::None && instruction.memory_index() == Register::None;
    let thread = matches!(instruction.memory_segment(), Register::FS | Register::GS);
    let kernel_half = displacement >> 63 == 1;
    if IMAGE.contains(&displacement) || absolute && kernel_half && !thread {
        displacement
    } else {
        0
    }
}

/// Whether an immediate may be an address; one of the others is a mask.
fn is_arithmetic(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Mov | Mnemonic::Push | Mnemonic::Cmp | Mnemonic::Add | Mnemonic::Sub
    )
}
