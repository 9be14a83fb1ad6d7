use super::{behind, decoded, load, set, store};
use super::{Access, Address, Effect, Role, Source};

fn check(word: u32, accesses: &[Access], effects: &[Effect]) {
    let operation = decoded(word);
    assert_eq!(operation.accesses, accesses, "{word:08x}");
    assert_eq!(operation.effects, effects, "{word:08x}");
}

fn repeated(access: Access) -> Access {
    Access {
        repeated: true,
        ..access
    }
}

#[test]
fn blocks() {
    let there = behind(1, 0);
    let zeros = Effect::Store(there, 64, Source::Number);
    check(0xd50b_7421, &[repeated(store(there, 64))], &[zeros]); // dc zva, x1
    check(0xd50b_7461, &[repeated(store(there, 64))], &[]); // dc gva, x1
    let parts: Vec<Address> = (0..8).map(|number| behind(2, 8 * number)).collect();
    let loaded: Vec<Effect> = (0..)
        .zip(&parts)
        .map(|(to, part)| set(to, Source::Load(*part)))
        .collect();
    check(0xf83f_d040, &[load(parts[0], 64)], &loaded); // ld64b x0, [x2]
    let stored = (0..)
        .zip(&parts)
        .map(|(from, part)| Effect::Store(*part, 8, Source::Register(from)));
    let stored: Vec<Effect> = stored.collect();
    check(0xf83f_9040, &[store(parts[0], 64)], &stored); // st64b x0, [x2]
    let stored: Vec<Effect> = stored.into_iter().chain([set(9, Source::Number)]).collect();
    check(0xf829_b040, &[store(parts[0], 64)], &stored); // st64bv x9, x0, [x2]
}

#[test]
fn copies() {
    let (to, from) = (behind(1, 0), behind(2, 0));
    let accesses = [repeated(load(from, 1)), repeated(store(to, 1))];
    let effects = [
        Effect::Store(to, 1, Source::Number),
        set(1, Source::Computed),
        set(3, Source::Number),
        set(2, Source::Computed),
    ];
    check(0x1902_0461, &accesses, &effects); // cpyfp [x1]!, [x2]!, x3!
    let user = Access {
        role: Role::User,
        ..accesses[0]
    };
    check(0x1d02_2461, &[user, accesses[1]], &effects); // cpyprt [x1]!, [x2]!, x3!
    check(0x19c2_4461, &accesses[1..], &effects[..3]); // setm [x1]!, x3!, x2
    check(0x19df_0461, &accesses[1..], &effects[..3]); // setp [x1]!, x3!, xzr
}

#[test]
fn tags() {
    let there = behind(2, 16);
    check(0xd960_1041, &[load(there, 16)], &[set(1, Source::Computed)]); // ldg x1, [x2, #16]
    let written = set(2, Source::Sum(there));
    check(0xd920_1441, &[store(behind(2, 0), 16)], &[written]); // stg x1, [x2], #16
    let there = behind(2, -32); // stz2g x1, [x2, #-32]!
    let effects = [
        set(2, Source::Sum(there)),
        Effect::Store(there, 32, Source::Number),
    ];
    check(0xd9ff_ec41, &[store(there, 32)], &effects);
    let tags = repeated(load(behind(2, 0), 0)); // ldgm x1, [x2]
    check(0xd9e0_0041, &[tags], &[set(1, Source::Computed)]);
}

#[test]
fn scalable() {
    let there = behind(2, 0);
    let stored = Effect::Store(there, 0, Source::Computed);
    for word in [0xe580_4440, 0xe120_0040] {
        // str z0, [x2, #1, mul vl]; str za[w12, 0], [x2]
        check(word, &[repeated(store(there, 0))], &[stored]);
    }
    check(0xa403_4040, &[repeated(load(there, 0))], &[]); // ld1b {z0.b}, p0/z, [x2, x3]
    let nowhere = Address::default(); // ld1w {z0.s}, p0/z, [z2.s]
    check(0x8520_c040, &[repeated(load(nowhere, 0))], &[]);
}
