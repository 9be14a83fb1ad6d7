use super::{behind, change, decoded, indexed, load, set, store, ADDRESS};
use super::{Access, Address, Effect, Role, Source};

fn check(word: u32, accesses: &[Access], effects: &[Effect]) {
    let operation = decoded(word);
    assert_eq!(operation.accesses, accesses, "{word:08x}");
    assert_eq!(operation.effects, effects, "{word:08x}");
}

/// A load of a general register.
fn check_load(word: u32, register: u8, address: Address, size: u32) {
    let source = match size {
        8 => Source::Load(address),
        _ => Source::Number,
    };
    check(word, &[load(address, size)], &[set(register, source)]);
}

fn check_store(word: u32, address: Address, size: u32, source: Source) {
    let effect = Effect::Store(address, size, source);
    check(word, &[store(address, size)], &[effect]);
}

fn literal(distance: i64) -> Address {
    Address {
        displacement: ADDRESS as i64 + distance,
        ..Address::default()
    }
}

#[test]
fn one_register() {
    check_load(0xf940_0841, 1, behind(2, 16), 8); // ldr x1, [x2, #16]
    check_load(0xb940_1041, 1, behind(2, 16), 4); // ldr w1, [x2, #16]
    check_load(0x3940_0c41, 1, behind(2, 3), 1); // ldrb w1, [x2, #3]
    check_load(0xb980_0441, 1, behind(2, 4), 4); // ldrsw x1, [x2, #4]
    check_load(0xf85f_7041, 1, behind(2, -9), 8); // ldur x1, [x2, #-9]
    check_store(0xf900_07e1, behind(31, 8), 8, Source::Register(1)); // str x1, [sp, #8]
    check_store(0xf900_005f, behind(2, 0), 8, Source::Constant(0)); // str xzr, [x2]
    check_store(0xb900_0041, behind(2, 0), 4, Source::Number); // str w1, [x2]
    check(0xf940_005f, &[load(behind(2, 0), 8)], &[]); // ldr xzr, [x2]
}

#[test]
fn a_base_that_changes() {
    let (before, after) = (behind(2, -16), behind(2, 8));
    let written = set(2, Source::Sum(before)); // ldr x1, [x2, #-16]!
    let loaded = set(1, Source::Load(before));
    check(0xf85f_0c41, &[load(before, 8)], &[written, loaded]);
    let written = set(2, Source::Sum(after)); // ldr x1, [x2], #8
    let loaded = set(1, Source::Load(behind(2, 0)));
    check(0xf840_8441, &[load(behind(2, 0), 8)], &[written, loaded]);
    let there = behind(31, -16); // str x1, [sp, #-16]!
    let written = set(31, Source::Sum(there));
    let stored = Effect::Store(there, 8, Source::Register(1));
    check(0xf81f_0fe1, &[store(there, 8)], &[written, stored]);
    let there = behind(2, -4096); // ldraa x1, [x2, #-4096]!
    let written = set(2, Source::Sum(there));
    check(
        0xf860_0c41,
        &[load(there, 8)],
        &[written, set(1, Source::Load(there))],
    );
    check_load(0xf8a0_1441, 1, behind(2, 8), 8); // ldrab x1, [x2, #8]
}

#[test]
fn an_index() {
    check_load(0xf863_7841, 1, indexed(2, 3, 8), 8); // ldr x1, [x2, x3, lsl #3]
    check_load(0x7863_d841, 1, indexed(2, 3, 2), 2); // ldrh w1, [x2, w3, sxtw #1]
    check_load(0x387f_6841, 1, behind(2, 0), 1); // ldrb w1, [x2, xzr]
    check(0x3ce3_7841, &[load(indexed(2, 3, 16), 16)], &[]); // ldr q1, [x2, x3, lsl #4]
}

#[test]
fn literals_and_prefetches() {
    check_load(0x58ff_ffc1, 1, literal(-8), 8); // ldr x1, .-8
    check_load(0x9800_0041, 1, literal(8), 4); // ldrsw x1, .+8
    check(0x9c00_0081, &[load(literal(16), 16)], &[]); // ldr q1, .+16
                                                       // prfm, prfum; prfb of SVE.
    for word in [
        0xd800_0080,
        0xf980_0040,
        0xf89f_f040,
        0xf8a3_6840,
        0x85c0_0040,
    ] {
        check(word, &[], &[]);
    }
}

#[test]
fn two_registers() {
    let loads = [load(behind(31, 0), 8), load(behind(31, 8), 8)];
    let effects = [
        set(31, Source::Sum(behind(31, 32))),
        set(29, Source::Load(behind(31, 0))),
        set(30, Source::Load(behind(31, 8))),
    ];
    check(0xa8c2_7bfd, &loads, &effects); // ldp x29, x30, [sp], #32
    let stores = [store(behind(31, -32), 8), store(behind(31, -24), 8)];
    let effects = [
        set(31, Source::Sum(behind(31, -32))),
        Effect::Store(behind(31, -32), 8, Source::Register(29)),
        Effect::Store(behind(31, -24), 8, Source::Register(30)),
    ];
    check(0xa9be_7bfd, &stores, &effects); // stp x29, x30, [sp, #-32]!
    let numbers = [set(1, Source::Number), set(2, Source::Number)];
    let loads = [load(behind(3, 8), 4), load(behind(3, 12), 4)];
    check(0x6941_0861, &loads, &numbers); // ldpsw x1, x2, [x3, #8]
    let loads = [load(behind(3, 0), 4), load(behind(3, 4), 4)];
    check(0x2940_0861, &loads, &numbers); // ldp w1, w2, [x3]
    let stores = [store(behind(3, 16), 8), store(behind(3, 24), 8)];
    let effects = [
        Effect::Store(behind(3, 16), 8, Source::Constant(0)),
        Effect::Store(behind(3, 24), 8, Source::Register(2)),
    ];
    check(0xa901_087f, &stores, &effects); // stp xzr, x2, [x3, #16]
    let loads = [load(behind(3, 32), 16), load(behind(3, 48), 16)];
    check(0xac41_0861, &loads, &[]); // ldnp q1, q2, [x3, #32]
    let effects = [
        set(3, Source::Sum(behind(3, 16))),
        Effect::Store(behind(3, 16), 8, Source::Register(1)),
        Effect::Store(behind(3, 24), 8, Source::Register(2)),
    ];
    check(0x6980_8861, &stores, &effects); // stgp x1, x2, [x3, #16]!
}

#[test]
fn with_the_rights_of_user_mode() {
    let user = |access: Access| Access {
        role: Role::User,
        ..access
    };
    let loaded = set(1, Source::Load(behind(2, 8)));
    check(0xf840_8841, &[user(load(behind(2, 8), 8))], &[loaded]); // ldtr x1, [x2, #8]
    let stored = Effect::Store(behind(2, 0), 1, Source::Number);
    check(0x3800_0841, &[user(store(behind(2, 0), 1))], &[stored]); // sttrb w1, [x2]
                                                                    // FEAT_LSUI: ldtxr x9, [sp]; cast x0, x1, [x2]; swpt w7, wzr, [x5]; ldtp x21, x29, [x2, #504].
    let loaded = set(9, Source::Load(behind(31, 0)));
    check(0xc95f_7fe9, &[user(load(behind(31, 0), 8))], &[loaded]);
    let changed = Effect::Store(behind(2, 0), 8, Source::Computed);
    let loaded = set(0, Source::Load(behind(2, 0)));
    check(
        0xc980_7c41,
        &[user(change(behind(2, 0), 8))],
        &[changed, loaded],
    );
    let changed = Effect::Store(behind(5, 0), 4, Source::Number);
    check(0x1927_84bf, &[user(change(behind(5, 0), 4))], &[changed]);
    let (first, second) = (behind(2, 504), behind(2, 512));
    let loads = [user(load(first, 8)), user(load(second, 8))];
    let effects = [set(21, Source::Load(first)), set(29, Source::Load(second))];
    check(0xe95f_f455, &loads, &effects);
}

#[test]
fn exclusive_and_ordered() {
    let there = behind(2, 0);
    for word in [0xc85f_7c41, 0xc8df_fc41, 0xf8bf_c041] {
        check_load(word, 1, there, 8); // ldxr, ldar, ldapr x1, [x2]
    }
    check_load(0x485f_fc41, 1, there, 2); // ldaxrh w1, [x2]
    check_load(0x88df_7c41, 1, there, 4); // ldlar w1, [x2]
    check_load(0xd95f_8041, 1, behind(2, -8), 8); // ldapur x1, [x2, #-8]
    check_store(0xc89f_fc41, there, 8, Source::Register(1)); // stlr x1, [x2]
    check_store(0x1900_1041, behind(2, 1), 1, Source::Number); // stlurb w1, [x2, #1]
    let status = set(3, Source::Number);
    let stored = Effect::Store(there, 8, Source::Computed);
    check(0xc803_7c41, &[store(there, 8)], &[stored, status]); // stxr w3, x1, [x2]
    let stored = Effect::Store(there, 1, Source::Number);
    check(0x0803_fc41, &[store(there, 1)], &[stored, status]); // stlxrb w3, w1, [x2]
    let loads = [load(there, 8), load(behind(2, 8), 8)];
    let effects = [
        set(1, Source::Load(there)),
        set(3, Source::Load(behind(2, 8))),
    ];
    check(0xc87f_0c41, &loads, &effects); // ldxp x1, x3, [x2]
    let stores = [store(there, 8), store(behind(2, 8), 8)];
    let effects = [
        Effect::Store(there, 8, Source::Computed),
        Effect::Store(behind(2, 8), 8, Source::Computed),
        set(4, Source::Number),
    ];
    check(0xc824_8c41, &stores, &effects); // stlxp w4, x1, x3, [x2]
}

#[test]
fn atomics() {
    let there = behind(2, 0);
    let changed = |size: u32, source: Source| Effect::Store(there, size, source);
    let loaded = Source::Load(there);
    let of = |word: u32, size: u32, stored: Source, effects: &[Effect]| {
        let effects: Vec<_> = [changed(size, stored)]
            .iter()
            .chain(effects)
            .copied()
            .collect();
        check(word, &[change(there, size)], &effects);
    };
    of(0xc8a1_7c43, 8, Source::Computed, &[set(1, loaded)]); // cas x1, x3, [x2]
    of(0x08e1_fc43, 1, Source::Number, &[set(1, Source::Number)]); // casalb w1, w3, [x2]
    let pair = [set(4, loaded), set(5, Source::Load(behind(2, 8)))];
    of(0x4824_7c46, 16, Source::Computed, &pair); // casp x4, x5, x6, x7, [x2]
    let pair = [set(4, Source::Number), set(5, Source::Number)];
    of(0x0824_7c46, 8, Source::Computed, &pair); // casp w4, w5, w6, w7, [x2]
    of(
        0xf821_0043,
        8,
        Source::Computed,
        &[set(3, Source::Computed)],
    ); // ldadd x1, x3, [x2]
    of(0x78e1_3043, 2, Source::Number, &[set(3, Source::Number)]); // ldsetalh w1, w3, [x2]
    of(0xf821_005f, 8, Source::Computed, &[]); // stadd x1, [x2]
    of(0xf821_8043, 8, Source::Register(1), &[set(3, loaded)]); // swp x1, x3, [x2]
    of(0xf83f_8043, 8, Source::Constant(0), &[set(3, loaded)]); // swp xzr, x3, [x2]
    of(0x3821_8043, 1, Source::Number, &[set(3, Source::Number)]); // swpb w1, w3, [x2]
    of(0x3ce0_0041, 2, Source::Number, &[]); // ldbfaddal h0, h1, [x2]
}

#[test]
fn structures() {
    let there = behind(2, 0);
    check(0x4c40_2040, &[load(there, 64)], &[]); // ld1 {v0.16b-v3.16b}, [x2]
    let written = set(2, Source::Sum(behind(2, 32)));
    check(0x0cdf_0040, &[load(there, 32)], &[written]); // ld4 {v0.8b-v3.8b}, [x2], #32
    let written = set(2, Source::Sum(indexed(2, 3, 1)));
    let stored = Effect::Store(there, 8, Source::Computed);
    check(0x0da3_9040, &[store(there, 8)], &[written, stored]); // st2 {v0.s, v1.s}[1], [x2], x3
    check(0x4d40_ec40, &[load(there, 24)], &[]); // ld3r {v0.2d-v2.2d}, [x2]
}
