use super::{decoded, set, Effect, Operation, Source, ADDRESS};
use crate::machine::effect::Control;

fn check(word: u32, control: Control) {
    let found = decoded(word);
    let expected = Operation {
        control,
        compared: found.compared,
        if_equal: found.if_equal,
        ..Operation::default()
    };
    assert_eq!(found, expected, "{word:08x}");
}

#[test]
fn what_a_condition_says_of_a_register() {
    for (word, expected) in [
        (0x5400_0080, (None, Some(true))),     // b.eq .+16
        (0x5400_0081, (None, Some(false))),    // b.ne .+16
        (0x5400_008a, (None, None)),           // b.ge .+16
        (0xb4ff_ff81, (Some(1), Some(true))),  // cbz x1, .-16
        (0xb5ff_ff81, (Some(1), Some(false))), // cbnz x1, .-16
        (0x34ff_ff81, (None, None)),           // cbz w1, .-16
        (0xf100_003f, (Some(1), None)),        // cmp x1, #0
        (0xf100_043f, (None, None)),           // cmp x1, #1
        (0x7100_003f, (None, None)),           // cmp w1, #0
        (0x9a83_0041, (None, Some(true))),     // csel x1, x2, x3, eq
        (0x9a83_1041, (None, Some(false))),    // csel x1, x2, x3, ne
        (0x9a83_2041, (None, None)),           // csel x1, x2, x3, cs
    ] {
        let found = decoded(word);
        assert_eq!((found.compared, found.if_equal), expected, "{word:08x}");
    }
}

#[test]
fn branches() {
    check(0x17ff_fffe, Control::Jump(ADDRESS - 8)); // b .-8
    check(0x9400_0002, Control::Call(ADDRESS + 8)); // bl .+8
    check(0x5400_0080, Control::Branch(ADDRESS + 16)); // b.eq .+16
    check(0x5400_0090, Control::Branch(ADDRESS + 16)); // bc.eq .+16
    check(0xb4ff_ff81, Control::Branch(ADDRESS - 16)); // cbz x1, .-16
    check(0xb740_0101, Control::Branch(ADDRESS + 32)); // tbnz x1, #40, .+32
    check(0x7500_2005, Control::Branch(ADDRESS - 1024)); // cbgt w5, #0, .-1024
}

#[test]
fn registers() {
    check(0xd61f_0020, Control::IndirectJump(1)); // br x1
    check(0xd71f_083f, Control::IndirectJump(1)); // braa x1, sp
    check(0xd63f_0020, Control::IndirectCall(1)); // blr x1
    check(0xd63f_083f, Control::IndirectCall(1)); // blraaz x1
}

#[test]
fn ends() {
    // ret, retaa, eret, drps; hlt #0, udf #7
    for word in [
        0xd65f_03c0,
        0xd65f_0bff,
        0xd69f_03e0,
        0xd6bf_03e0,
        0xd440_0000,
        0x0000_0007,
    ] {
        check(word, Control::Leave);
    }
    // brk #0x800, which WARN() returns behind; svc #0, hvc #0, smc #0; dmb ish, isb; msr sp_el0, x1
    for word in [
        0xd421_0000,
        0xd400_0001,
        0xd400_0002,
        0xd400_0003,
        0xd503_3bbf,
        0xd503_3fdf,
        0xd518_4101,
    ] {
        check(word, Control::Next);
    }
}

#[test]
fn system_registers() {
    let of = |word: u32| -> Vec<Effect> { decoded(word).effects };
    assert_eq!(of(0xd538_4101), [set(1, Source::Task)]); // mrs x1, sp_el0
    assert_eq!(of(0xd538_d081), [set(1, Source::PerCpu)]); // mrs x1, tpidr_el1
    assert_eq!(of(0xd53c_d041), [set(1, Source::PerCpu)]); // mrs x1, tpidr_el2
    assert_eq!(of(0xd53b_e041), [set(1, Source::Number)]); // mrs x1, cntvct_el0
    assert_eq!(of(0xd53b_e05f), []); // mrs xzr, cntvct_el0
    assert_eq!(of(0xd523_3061), [set(1, Source::Number)]); // tstart x1
                                                           // mrrs x0, x1, ttbr0_el1
    assert_eq!(
        of(0xd578_2000),
        [set(0, Source::Number), set(1, Source::Number)]
    );
}
