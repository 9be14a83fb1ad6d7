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

#[test]
fn conditions_say_whether_a_register_is_null() {
    for (code, expected) in [
        (&[0x48, 0x85, 0xdb][..], (Some(3), None)), // test %rbx,%rbx
        (&[0x48, 0x85, 0xd8], (None, None)),        // test %rbx,%rax
        (&[0x85, 0xdb], (None, None)),              // test %ebx,%ebx
        (&[0x48, 0x83, 0xfb, 0], (Some(3), None)),  // cmp $0,%rbx
        (&[0x48, 0x83, 0xfb, 1], (None, None)),     // cmp $1,%rbx
        (&[0x74, 2], (None, Some(true))),           // je
        (&[0x0f, 0x85, 0, 1, 0, 0], (None, Some(false))), // jne
        (&[0x7f, 2], (None, None)),                 // jg
        (&[0xe1, 2], (None, None)),                 // loope
        (&[0x48, 0x0f, 0x44, 0xd8], (None, Some(true))), // cmove %rax,%rbx
        (&[0x48, 0x0f, 0x45, 0xd8], (None, Some(false))), // cmovne %rax,%rbx
        (&[0x0f, 0x95, 0xc0], (None, None)),        // setne %al
    ] {
        let found = decoded(code);
        assert_eq!((found.compared, found.if_equal), expected, "{code:02x?}");
    }
    let moved = decoded(&[0x48, 0x0f, 0x45, 0xd8]);
    assert_eq!(moved.effects, [Effect::Set(3, Source::Either(0, 3))]);
}
