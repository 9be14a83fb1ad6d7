/// The text of LDTR and the like, which read user memory, where their offset is 0: capstone 5 takes
/// these for no instructions.
pub(super) fn text(word: u32) -> Option<(&'static str, String)> {
    if word & 0x3f20_0c00 != 0x3800_0800 {
        return None;
    }
    let (operation, wide) = match (word >> 30, word >> 22 & 0b11) {
        (0, 0) => ("sttrb", false),
        (0, 1) => ("ldtrb", false),
        (0, 2) => ("ldtrsb", true),
        (0, _) => ("ldtrsb", false),
        (1, 0) => ("sttrh", false),
        (1, 1) => ("ldtrh", false),
        (1, 2) => ("ldtrsh", true),
        (1, _) => ("ldtrsh", false),
        (2, 0) => ("sttr", false),
        (2, 1) => ("ldtr", false),
        (2, 2) => ("ldtrsw", true),
        (3, 0) => ("sttr", true),
        (3, 1) => ("ldtr", true),
        _ => return None,
    };
    let kind = if wide { 'x' } else { 'w' };
    let register = match word & 0b1_1111 {
        31 => format!("{kind}zr"),
        number => format!("{kind}{number}"),
    };
    let base = match word >> 5 & 0b1_1111 {
        31 => "sp".to_owned(),
        number => format!("x{number}"),
    };
    let offset = (word << 11) as i32 >> 23;
    let offset = if offset == 0 {
        String::new()
    } else {
        format!(", #{offset}")
    };
    Some((operation, format!("{register}, [{base}{offset}]")))
}
