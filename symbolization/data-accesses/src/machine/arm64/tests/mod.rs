mod accesses;
mod computation;
mod control;
mod expected;
mod memory;
mod oracle;
mod random;
mod repeated;
mod values;

use super::Arm64;
use crate::machine::effect::{Access, Address, Effect, Operation, Register, Role, Source};
use crate::machine::model::Machine;

const ADDRESS: u64 = 0xffff_8000_0123_4568;

/// What an instruction does; it must be one.
fn decoded(word: u32) -> Operation {
    let mut operation = Operation::default();
    let is_known = Arm64.decode(ADDRESS, &word.to_le_bytes(), &mut operation);
    assert!(is_known, "{word:08x}");
    operation
}

fn behind(base: Register, displacement: i64) -> Address {
    Address {
        base: Some(base),
        displacement,
        ..Address::default()
    }
}

fn indexed(base: Register, index: Register, scale: u8) -> Address {
    Address {
        index: Some((index, scale)),
        ..behind(base, 0)
    }
}

fn load(address: Address, size: u32) -> Access {
    Access {
        address,
        load: true,
        store: false,
        size,
        role: Role::Plain,
        repeated: false,
    }
}

fn store(address: Address, size: u32) -> Access {
    Access {
        load: false,
        store: true,
        ..load(address, size)
    }
}

fn change(address: Address, size: u32) -> Access {
    Access {
        store: true,
        ..load(address, size)
    }
}

fn set(register: Register, source: Source) -> Effect {
    Effect::Set(register, source)
}

#[test]
fn what_is_no_instruction() {
    let mut operation = Operation::default();
    for code in [&[][..], &[0x1f, 0x20, 0x03], &[0x1f, 0x20, 0x03, 0xd5, 0]] {
        assert!(!Arm64.decode(ADDRESS, code, &mut operation));
    }
    // Op0 of 0001 and 0011; a reserved mask; LDR and LDP of reserved sizes; CASP of odd registers.
    for word in [
        0x0200_0000_u32,
        0x0600_0000,
        0x1200_fc20,
        0xf980_0020 | 0x0040_0000,
        0x6800_0420,
        0x4821_7c02,
    ] {
        assert!(
            !Arm64.decode(ADDRESS, &word.to_le_bytes(), &mut operation),
            "{word:08x}"
        );
        assert_eq!(operation, Operation::default(), "{word:08x}");
    }
}
