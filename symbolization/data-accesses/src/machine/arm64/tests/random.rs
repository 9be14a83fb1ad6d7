use super::{Operation, ADDRESS};
use crate::machine::arm64::Arm64;
use crate::machine::effect::{Address, Control, Effect, Source};
use crate::machine::model::{Machine, REGISTERS};

/// Numbers that look random, alike in each run.
pub(super) struct Words(u64);

impl Words {
    pub(super) fn new() -> Self {
        Words(0x9e37_79b9_7f4a_7c15)
    }
}

impl Iterator for Words {
    type Item = u32;

    /// By xorshift64*.
    fn next(&mut self) -> Option<u32> {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        Some((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32)
    }
}

fn has_known_registers(address: Address) -> bool {
    let index = address.index.map(|(register, _)| register);
    let mut named = address.base.iter().chain(&index);
    named.all(|register| usize::from(*register) < REGISTERS)
}

fn of_source(source: Source) -> bool {
    match source {
        Source::Register(one) | Source::Masked(one, _) => usize::from(one) < REGISTERS,
        Source::Difference(one, other) | Source::Both(one, other) | Source::Either(one, other) => {
            usize::from(one.max(other)) < REGISTERS
        }
        Source::Sum(address) | Source::Load(address) => has_known_registers(address),
        _ => true,
    }
}

/// A million words: no panic, no register that there is not, nothing left of what is no instruction.
#[test]
fn any_word() {
    let mut operation = Operation::default();
    let mut allocated = 0;
    for word in Words::new().take(1_000_000) {
        operation.clear();
        if !Arm64.decode(ADDRESS, &word.to_le_bytes(), &mut operation) {
            assert_eq!(operation, Operation::default(), "{word:08x}");
            continue;
        }
        allocated += 1;
        for access in &operation.accesses {
            assert!(access.load || access.store, "{word:08x}");
            assert!(has_known_registers(access.address), "{word:08x}");
        }
        for effect in &operation.effects {
            let is_known = match *effect {
                Effect::Set(register, source) => {
                    usize::from(register) < REGISTERS && of_source(source)
                }
                Effect::Store(address, _, source) => {
                    has_known_registers(address) && of_source(source)
                }
            };
            assert!(is_known, "{word:08x}: {effect:?}");
        }
        if let Control::IndirectJump(register) | Control::IndirectCall(register) = operation.control
        {
            assert!(register < 31, "{word:08x}");
        }
    }
    assert!((500_000..1_000_000).contains(&allocated), "{allocated}");
}
