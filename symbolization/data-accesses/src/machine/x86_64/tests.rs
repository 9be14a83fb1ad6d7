use super::super::effect::{Address, Effect, Operation, Role, Source};
use super::super::model::Machine;
use super::operand::RSP;
use super::X86_64;

fn decoded(code: &[u8]) -> Operation {
    let mut operation = Operation::default();
    let is_known = X86_64.decode(0xffff_ffff_8100_0000, code, &mut operation);
    assert!(is_known, "{code:02x?}");
    operation
}

fn behind(displacement: i64) -> Address {
    Address {
        base: Some(RSP),
        displacement,
        ..Address::default()
    }
}

#[test]
fn flags_are_pushed_and_popped() {
    let pushed = decoded(&[0x9c]);
    let store = Effect::Store(behind(-8), 8, Source::Number);
    let lower = Effect::Set(RSP, Source::Sum(behind(-8)));
    assert_eq!(pushed.effects, [store, lower]);
    assert_eq!(pushed.accesses[0].role, Role::Push);
    let popped = decoded(&[0x9d]);
    assert_eq!(popped.effects, [Effect::Set(RSP, Source::Sum(behind(8)))]);
    assert_eq!(popped.accesses[0].role, Role::Push);
    // As registers are.
    let register = decoded(&[0x50]);
    let store = Effect::Store(behind(-8), 8, Source::Register(0));
    assert_eq!(register.effects, [store, lower]);
}
