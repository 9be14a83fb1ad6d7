use super::{behind, decoded, indexed, set, Address, Source, ADDRESS};

/// A word that sets this register alone.
fn check_register(word: u32, register: u8, source: Source) {
    let operation = decoded(word);
    assert_eq!(operation.effects, [set(register, source)], "{word:08x}");
    assert_eq!(operation.accesses, [], "{word:08x}");
}

fn check(word: u32, source: Source) {
    check_register(word, 1, source);
}

fn check_nothing(words: &[u32]) {
    for word in words {
        assert_eq!(decoded(*word), super::Operation::default(), "{word:08x}");
    }
}

#[test]
fn moves() {
    check(0xaa02_03e1, Source::Register(2)); // mov x1, x2
    check(0xaa1f_03e1, Source::Constant(0)); // mov x1, xzr
    check(0x2a02_03e1, Source::Number); // mov w1, w2
    check(0x2a1f_03e1, Source::Constant(0)); // mov w1, wzr
    check_register(0x9100_003f, 31, Source::Register(1)); // mov sp, x1
    check(0x9100_03e1, Source::Register(31)); // mov x1, sp
}

#[test]
fn constants() {
    check(0xd2a2_4681, Source::Constant(0x1234_0000)); // mov x1, #0x12340000
    check(0x9280_0021, Source::Constant(u64::MAX - 1)); // mov x1, #-2
    check(0x1280_0021, Source::Constant(0xffff_fffe)); // mov w1, #-2
    check(0x5280_00e1, Source::Constant(7)); // mov w1, #7
    check(0xb200_9fe1, Source::Constant(0x00ff_00ff_00ff_00ff)); // mov x1, #0xff00ff00ff00ff
    check(0xf2a0_00a1, Source::Computed); // movk x1, #5, lsl #16
    check(0x7280_00a1, Source::Number); // movk w1, #5
    check(0x10ff_ffe1, Source::Constant(ADDRESS - 4)); // adr x1, .-4
    check(0x9000_0081, Source::Constant((ADDRESS & !0xfff) + 0x1_0000)); // adrp x1
}

#[test]
fn sums() {
    check(0x9140_4841, Source::Sum(behind(2, 0x1_2000))); // add x1, x2, #0x12, lsl #12
    check_register(0xd101_03ff, 31, Source::Sum(behind(31, -64))); // sub sp, sp, #64
    check(0x1100_0441, Source::Number); // add w1, w2, #1
    check(0xb100_2041, Source::Sum(behind(2, 8))); // adds x1, x2, #8
    check(0x8b03_0041, Source::Sum(indexed(2, 3, 1))); // add x1, x2, x3
    check(0x8b03_1041, Source::Sum(indexed(2, 3, 16))); // add x1, x2, x3, lsl #4
    check(0x8b03_1c41, Source::Sum(indexed(2, 3, 128))); // add x1, x2, x3, lsl #7
    check(0x8b03_2041, Source::Computed); // add x1, x2, x3, lsl #8
    check(0x8b43_0841, Source::Computed); // add x1, x2, x3, lsr #2
    check(0x8b1f_0041, Source::Register(2)); // add x1, x2, xzr
    check(0x8b23_63e1, Source::Sum(indexed(31, 3, 1))); // add x1, sp, x3
    check(0x8b23_4841, Source::Sum(indexed(2, 3, 4))); // add x1, x2, w3, uxtw #2
    check(0x8b03_0be1, {
        let index = Some((3, 4)); // add x1, xzr, x3, lsl #2
        Source::Sum(Address {
            index,
            ..Address::default()
        })
    });
    check(0x9182_0441, Source::Sum(behind(2, 32))); // addg x1, x2, #32, #1
    check_register(0x9adf_105f, 31, Source::Register(2)); // irg sp, x2
    check(0x9a03_2841, Source::Sum(indexed(2, 3, 4))); // addpt x1, x2, x3, lsl #2
}

#[test]
fn differences() {
    check(0xcb03_0041, Source::Difference(2, 3)); // sub x1, x2, x3
    check(0xcb03_0841, Source::Computed); // sub x1, x2, x3, lsl #2
    check_register(0xcb21_63ff, 31, Source::Difference(31, 1)); // sub sp, sp, x1
    check(0xcb23_4041, Source::Computed); // sub x1, x2, w3, uxtw
    check(0xcb02_03e1, Source::Computed); // neg x1, x2
    check(0x4b03_0041, Source::Number); // sub w1, w2, w3
}

#[test]
fn masks() {
    check(0x927d_f041, Source::Masked(2, !7)); // and x1, x2, #0xfffffffffffffff8
    check_register(0x927c_ec5f, 31, Source::Masked(2, !15)); // and sp, x2, #-16
    check(0x1200_0841, Source::Number); // and w1, w2, #7
    check(0xf240_1c41, Source::Masked(2, 0xff)); // ands x1, x2, #0xff
    check(0x8a03_0041, Source::Both(2, 3)); // and x1, x2, x3
    check(0x8a03_0441, Source::Computed); // and x1, x2, x3, lsl #1
    check(0x8a1f_0041, Source::Constant(0)); // and x1, x2, xzr
    check(0x8a23_0041, Source::Computed); // bic x1, x2, x3
    check(0x8a3f_0041, Source::Register(2)); // bic x1, x2, xzr
    check(0xb240_0041, Source::Computed); // orr x1, x2, #1
    check(0xd240_0041, Source::Computed); // eor x1, x2, #1
    check(0xaa03_0041, Source::Computed); // orr x1, x2, x3
    check(0xaa22_03e1, Source::Computed); // mvn x1, x2
}

#[test]
fn selections() {
    check(0x9a83_0041, Source::Either(2, 3)); // csel x1, x2, x3, eq
    check(0x9a83_03e1, Source::Register(3)); // csel x1, xzr, x3, eq
    check(0x9a9f_0041, Source::Register(2)); // csel x1, x2, xzr, eq
    check(0x1a83_0041, Source::Number); // csel w1, w2, w3, eq
    check(0x9a83_0441, Source::Computed); // csinc x1, x2, x3, eq
    check(0x9a9f_17e1, Source::Number); // cset x1, eq
    check(0xda83_0041, Source::Computed); // csinv x1, x2, x3, eq
    check(0x5a83_0441, Source::Number); // csneg w1, w2, w3, eq
}

#[test]
fn products() {
    check(0xd37a_e441, Source::Product(2, 64)); // lsl x1, x2, #6
    check(0xd37d_7c41, Source::Product(2, 8)); // ubfiz x1, x2, #3, #32
    check(0x937d_7c41, Source::Product(2, 8)); // sbfiz x1, x2, #3, #32
    check(0x9b03_1041, Source::SumWithProduct(Some(4), 2, 3)); // madd x1, x2, x3, x4
    check(0x9b03_7c41, Source::SumWithProduct(None, 2, 3)); // mul x1, x2, x3
    check(0x9ba3_1041, Source::SumWithProduct(Some(4), 2, 3)); // umaddl x1, w2, w3, x4
}

#[test]
fn what_is_computed_otherwise() {
    // lsr, sxtw, bfi, extr, umulh, udiv, lslv, clz, adc, pacga; of SVE: incd, lastb.
    for word in [
        0xd343_fc41,
        0x9340_7c41,
        0xb37d_0c41,
        0x93c3_1041,
        0x9bc3_7c41,
        0x9ac3_0841,
        0x9ac3_2041,
        0xdac0_1041,
        0x9a03_0041,
        0x9ac3_3041,
        0x04f0_e3e1,
        0x05e1_a021,
    ] {
        check(word, Source::Computed);
    }
    // ubfx, mul, crc32x, rev of 32 bits; of SVE: rdvl, cntb, cntp.
    for word in [
        0x5303_1841,
        0x1b03_7c41,
        0x9ac3_4c41,
        0x5ac0_0841,
        0x04bf_5021,
        0x0420_e3e1,
        0x2520_8021,
    ] {
        check(word, Source::Number);
    }
    check_register(0x043f_57ff, 31, Source::Computed); // addvl sp, sp, #-1
}

#[test]
fn from_vectors() {
    check(0x9e66_0041, Source::Computed); // fmov x1, d2
    check(0x1e26_0041, Source::Number); // fmov w1, s2
    check(0x9eae_0041, Source::Computed); // fmov x1, v2.d[1]
    check(0x4e18_3c41, Source::Computed); // umov x1, v2.d[1]
    check(0x0e03_3c41, Source::Number); // umov w1, v2.b[1]
    check(0x4e0c_2c41, Source::Number); // smov x1, v2.s[1]
    check(0x9e78_0041, Source::Number); // fcvtzs x1, d2
    check(0x1e59_f441, Source::Number); // fcvtzu w1, d2, #3
                                        // fmov d1, x2; scvtf d1, x2; add v1.16b, v2.16b, v3.16b
    check_nothing(&[0x9e67_0041, 0x9e62_0041, 0x4e23_8441]);
}

#[test]
fn what_sets_no_register() {
    // nop, cmp, tst, ccmp, rmif; paciasp, pacia x1, x2, xpaci x1
    check_nothing(&[
        0xd503_201f,
        0xf100_103f,
        0xf240_003f,
        0xfa42_0020,
        0xba00_0420,
        0xd503_233f,
        0xdac1_0041,
        0xdac1_43e1,
    ]);
}
