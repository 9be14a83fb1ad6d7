//! Extensions that capstone 5 does not know: Zba, Zbb, Zbc, Zbs, Zicond, Zicbom, Zicboz, Svinval.

use super::text::name;
use super::word::{field, UNIMP};

/// What the operands are.
#[derive(Clone, Copy)]
enum Form {
    /// `rd, rs1, rs2`.
    Three,
    /// `rd, rs1`.
    Two,
    /// `rd, rs1, NUMBER` of a bit.
    Number,
    /// `(rs1)`.
    Memory,
    /// `rs1, rs2`.
    Fence,
    /// None.
    None,
}

use Form::{Fence, Memory, Number, Three, Two};

/// Name, form, and the bits of those that the form leaves.
const ALL: [(&str, Form, u32); 53] = [
    ("add.uw", Three, 0x0800_003b),
    ("sh1add", Three, 0x2000_2033),
    ("sh2add", Three, 0x2000_4033),
    ("sh3add", Three, 0x2000_6033),
    ("sh1add.uw", Three, 0x2000_203b),
    ("sh2add.uw", Three, 0x2000_403b),
    ("sh3add.uw", Three, 0x2000_603b),
    ("slli.uw", Number, 0x0800_101b),
    ("andn", Three, 0x4000_7033),
    ("orn", Three, 0x4000_6033),
    ("xnor", Three, 0x4000_4033),
    ("clz", Two, 0x6000_1013),
    ("ctz", Two, 0x6010_1013),
    ("cpop", Two, 0x6020_1013),
    ("clzw", Two, 0x6000_101b),
    ("ctzw", Two, 0x6010_101b),
    ("cpopw", Two, 0x6020_101b),
    ("min", Three, 0x0a00_4033),
    ("minu", Three, 0x0a00_5033),
    ("max", Three, 0x0a00_6033),
    ("maxu", Three, 0x0a00_7033),
    ("sext.b", Two, 0x6040_1013),
    ("sext.h", Two, 0x6050_1013),
    ("zext.h", Two, 0x0800_403b),
    ("rol", Three, 0x6000_1033),
    ("ror", Three, 0x6000_5033),
    ("rori", Number, 0x6000_5013),
    ("rolw", Three, 0x6000_103b),
    ("rorw", Three, 0x6000_503b),
    ("roriw", Number, 0x6000_501b),
    ("orc.b", Two, 0x2870_5013),
    ("rev8", Two, 0x6b80_5013),
    ("clmul", Three, 0x0a00_1033),
    ("clmulr", Three, 0x0a00_2033),
    ("clmulh", Three, 0x0a00_3033),
    ("bclr", Three, 0x4800_1033),
    ("bext", Three, 0x4800_5033),
    ("binv", Three, 0x6800_1033),
    ("bset", Three, 0x2800_1033),
    ("bclri", Number, 0x4800_1013),
    ("bexti", Number, 0x4800_5013),
    ("binvi", Number, 0x6800_1013),
    ("bseti", Number, 0x2800_1013),
    ("czero.eqz", Three, 0x0e00_5033),
    ("czero.nez", Three, 0x0e00_7033),
    ("cbo.inval", Memory, 0x0000_200f),
    ("cbo.clean", Memory, 0x0010_200f),
    ("cbo.flush", Memory, 0x0020_200f),
    ("cbo.zero", Memory, 0x0040_200f),
    ("sinval.vma", Fence, 0x1600_0073),
    ("sfence.w.inval", Form::None, 0x1800_0073),
    ("sfence.inval.ir", Form::None, 0x1810_0073),
    ("unimp", Form::None, UNIMP),
];

/// The text of an instruction of one of them.
pub(super) fn text(word: u32) -> Option<(&'static str, String)> {
    let (operation, form, _) = ALL
        .iter()
        .find(|(_, form, bits)| word & form.mask() == *bits)?;
    let rd = name(field(word, 7, 5));
    let (rs1, rs2) = (name(field(word, 15, 5)), name(field(word, 20, 5)));
    let operands = match form {
        Three => format!("{rd}, {rs1}, {rs2}"),
        Two => format!("{rd}, {rs1}"),
        Number => format!("{rd}, {rs1}, {}", field(word, 20, 6)),
        Memory => format!("({rs1})"),
        Fence => format!("{rs1}, {rs2}"),
        Form::None => String::new(),
    };
    Some((operation, operands))
}

impl Form {
    /// The bits that are no operands.
    fn mask(self) -> u32 {
        match self {
            Three => 0xfe00_707f,
            Two => 0xfff0_707f,
            Number => 0xfc00_707f,
            Memory => 0xfff0_7fff,
            Fence => 0xfe00_7fff,
            Form::None => u32::MAX,
        }
    }
}
