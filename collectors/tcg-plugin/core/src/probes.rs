//! Values of variables where functions begin, as registers and memory have them, and what functions
//! return.
//!
//! An argument says what to read at which address: `probe=NUMBER:ADDRESS:HOW:REGISTER:OFFSET:TYPE`.
//! HOW is `value` (a register plus the offset), `memory` (so far behind where a register points to),
//! `constant` (the offset itself), `return` (a register plus the offset, when the function returns
//! that begins there) or `nothing` (how often execution comes there is all that is counted). TYPE is `s` or `u`, signed or not, and how many bytes. REGISTER is gdb's name of one.
//!
//! What was found is written as lines of text: `place NUMBER ADDRESS COUNT UNREAD` (how often execution
//! came there in the window, and how often nothing could be read, or has not been yet), `value NUMBER VALUE COUNT`, and
//! `others NUMBER COUNT` (values beyond the first [`MOST_VALUES`] different ones).

use std::collections::{BTreeMap, HashMap};
use std::ffi::{c_uint, c_void};
use std::io::{self, Write};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::architecture::{Architecture, End};
use crate::ffi;
use crate::memory::refuse;
use crate::returning::Awaited;
use crate::running;

/// So many different values are kept of a probe.
pub const MOST_VALUES: usize = 4096;

/// What is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// A register, plus a number.
    Value(String, i64),
    /// Memory, so far behind where a register points to.
    Memory(String, i64),
    /// Nothing: it is this.
    Constant(i64),
    /// When the function returns: a register, plus a number.
    Returned(String, i64),
    /// Nothing: it is not known.
    Nothing,
}

/// What is read at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    number: u32,
    address: u64,
    read: Read,
    size: u32,
    is_signed: bool,
}

impl Probe {
    /// That of an argument's value; None where it makes no sense.
    pub fn parse(text: &str) -> Option<Probe> {
        let mut words = text.split(':');
        let mut next = || words.next();
        let number = next()?.parse().ok()?;
        let address = u64::from_str_radix(next()?, 16).ok()?;
        let (how, register) = (next()?, next()?.to_owned());
        let offset: i64 = next()?.parse().ok()?;
        let (sign, size) = next()?.split_at_checked(1)?;
        let read = match how {
            "value" => Read::Value(register, offset),
            "memory" => Read::Memory(register, offset),
            "constant" => Read::Constant(offset),
            "return" => Read::Returned(register, offset),
            "nothing" => Read::Nothing,
            _ => return None,
        };
        let size = size.parse().ok().filter(|size| (1..=8).contains(size))?;
        let is_signed = match sign {
            "s" => true,
            "u" => false,
            _ => return None,
        };
        next().is_none().then_some(Probe {
            number,
            address,
            read,
            size,
            is_signed,
        })
    }

    /// The number that is in the lowest bytes of a word.
    fn number_in(&self, word: u64) -> i128 {
        let unused = 64 - 8 * self.size;
        if self.is_signed {
            i128::from((word << unused) as i64 >> unused)
        } else {
            i128::from(word << unused >> unused)
        }
    }

    /// Its value now; None where it cannot be read.
    fn value(&self) -> Option<i128> {
        match &self.read {
            Read::Value(register, offset) | Read::Returned(register, offset) => {
                let word = running::register(register)?;
                Some(self.number_in(word.wrapping_add_signed(*offset)))
            }
            Read::Memory(register, offset) => {
                let at = running::register(register)?.wrapping_add_signed(*offset);
                running::word(at, self.size as usize).map(|word| self.number_in(word))
            }
            Read::Constant(value) => Some(self.number_in(*value as u64)),
            Read::Nothing => None,
        }
    }
}

/// What was counted at a place.
struct Place {
    probe: Probe,
    count: u64,
    unread: u64,
}

/// What was counted of all values of a probe.
#[derive(Debug, Default, PartialEq, Eq)]
struct Values {
    counts: BTreeMap<i128, u64>,
    others: u64,
}

impl Values {
    fn count(&mut self, value: i128) {
        if let Some(count) = self.counts.get_mut(&value) {
            *count += 1;
        } else if self.counts.len() < MOST_VALUES {
            self.counts.insert(value, 1);
        } else {
            self.others += 1;
        }
    }
}

struct Probes {
    /// They live as long as the process, for generated code holds their addresses.
    places: Vec<*mut Place>,
    at: HashMap<u64, Vec<*mut Place>>,
    values: BTreeMap<u32, Values>,
    /// Whether any is read when its function returns; and the calls that have begun, for those.
    returns: bool,
    under_way: Awaited<*mut Place>,
}

/// As the tracker (see [`crate::following`]), only used by the thread that executes the guest.
static PROBES: AtomicPtr<Probes> = AtomicPtr::new(ptr::null_mut());

fn probes() -> Option<&'static mut Probes> {
    // SAFETY: set once to what lives as long as the process; callbacks do not nest.
    unsafe { PROBES.load(Ordering::Relaxed).as_mut() }
}

/// Read these from now on.
pub fn begin(wanted: Vec<Probe>, architecture: &'static dyn Architecture) {
    if wanted.is_empty() {
        return;
    }
    let returns = |probe: &Probe| matches!(probe.read, Read::Returned(..));
    let returns = wanted.iter().any(returns);
    let made = |probe| {
        Box::into_raw(Box::new(Place {
            probe,
            count: 0,
            unread: 0,
        }))
    };
    let mut probes = Probes {
        places: wanted.into_iter().map(made).collect(),
        at: HashMap::default(),
        values: BTreeMap::default(),
        returns,
        under_way: Awaited::new(architecture),
    };
    for place in &probes.places {
        // SAFETY: just made.
        let address = unsafe { (**place).probe.address };
        probes.at.entry(address).or_default().push(*place);
    }
    PROBES.store(Box::into_raw(Box::new(probes)), Ordering::Relaxed);
}

/// Read what is wanted at an instruction's address when it executes, and what functions return.
///
/// # Safety
/// QEMU is translating `insn`.
pub unsafe fn follow(insn: *mut ffi::Insn, address: u64, end: End) {
    let Some(probes) = probes() else {
        return;
    };
    if !running::is_told() {
        refuse("this QEMU's plugins cannot read registers: use QEMU 9 or later");
    }
    let flags = ffi::CB_READS_REGS;
    for place in probes.at.get(&address).into_iter().flatten() {
        // SAFETY: as promised; the callback gets a place, and they live as long as the process.
        unsafe {
            ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, reached, flags, place.cast());
        }
    }
    if !probes.returns || !probes.under_way.follows(address, end) {
        return;
    }
    let told = if end == End::Call { calls } else { returns };
    // SAFETY: as promised.
    unsafe { ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, told, flags, ptr::null_mut()) };
}

extern "C" fn reached(_vcpu: c_uint, place: *mut c_void) {
    if !running::is_counting() {
        return;
    }
    // SAFETY: `follow` gave a place, to which nobody else keeps a reference.
    let place = unsafe { &mut *place.cast::<Place>() };
    let Some(probes) = probes() else {
        return;
    };
    place.count += 1;
    place.unread += 1;
    if matches!(place.probe.read, Read::Returned(..)) {
        probes.under_way.begins(ptr::from_mut(place));
    } else {
        read(place, &mut probes.values);
    }
}

/// Read what a place holds in a call in which that was not known yet.
fn read(place: &mut Place, values: &mut BTreeMap<u32, Values>) {
    if let Some(value) = place.probe.value() {
        place.unread -= 1;
        values.entry(place.probe.number).or_default().count(value);
    }
}

extern "C" fn calls(_vcpu: c_uint, _none: *mut c_void) {
    if let Some(probes) = probes() {
        probes.under_way.called();
    }
}

/// Of calls that began in the window, those that end behind it count as well.
extern "C" fn returns(_vcpu: c_uint, _none: *mut c_void) {
    let Some(probes) = probes() else {
        return;
    };
    for place in probes.under_way.returned() {
        // SAFETY: `reached` gave a place, to which nobody else keeps a reference.
        read(unsafe { &mut *place }, &mut probes.values);
    }
}

/// Forget what was counted.
pub fn clear() {
    let Some(probes) = probes() else {
        return;
    };
    probes.values.clear();
    probes.under_way.clear();
    for place in &probes.places {
        // SAFETY: callbacks keep no reference to one.
        let place = unsafe { &mut **place };
        (place.count, place.unread) = (0, 0);
    }
}

/// Write what was counted to what `open` opens; nothing is opened where nothing was to be read.
pub fn write(open: impl FnOnce() -> io::Result<Box<dyn Write>>) -> io::Result<()> {
    let Some(probes) = probes() else {
        return Ok(());
    };
    let mut out = open()?;
    for place in &probes.places {
        // SAFETY: as in `clear`.
        let Place {
            probe,
            count,
            unread,
        } = unsafe { &**place };
        let (number, address) = (probe.number, probe.address);
        writeln!(out, "place {number} {address:016x} {count} {unread}")?;
    }
    for (number, values) in &probes.values {
        for (value, count) in &values.counts {
            writeln!(out, "value {number} {value} {count}")?;
        }
        writeln!(out, "others {number} {}", values.others)?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_say_what_to_read() {
        let register = "value:r9:-3:s4";
        let probe = Probe::parse(&format!("2:ffffffff813cf710:{register}"));
        assert_eq!(
            probe,
            Some(Probe {
                number: 2,
                address: 0xffff_ffff_813c_f710,
                read: Read::Value("r9".to_owned(), -3),
                size: 4,
                is_signed: true,
            })
        );
        for text in [
            "",
            "x:0:value:r9:0:s4",
            "1:0:value:r9:0:s9",
            "1:0:value:r9:0:x4",
            "1:0:other:r9:0:s4",
            "1:0:value:r9:0:s4:more",
            "1:0:value:r9:0:",
            "1:0:value:r9",
        ] {
            assert_eq!(Probe::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_have_their_size_and_sign() {
        let number = |text: &str, word| {
            let probe = Probe::parse(&format!("0:0:value:rax:0:{text}"));
            probe.map(|probe| probe.number_in(word))
        };
        assert_eq!(number("s4", 0x1_ffff_fffe), Some(-2));
        assert_eq!(number("u4", 0x1_ffff_fffe), Some(0xffff_fffe));
        assert_eq!(number("u1", 0x1234), Some(0x34));
        assert_eq!(number("s8", u64::MAX), Some(-1));
        assert_eq!(number("u8", u64::MAX), Some(i128::from(u64::MAX)));
    }

    #[test]
    fn values_are_bounded() {
        let mut values = Values::default();
        for round in 0..2 {
            for value in 0..MOST_VALUES as i128 + 5 {
                values.count(value - round);
            }
        }
        assert_eq!(values.counts.len(), MOST_VALUES);
        assert_eq!(values.counts[&0], 2);
        let kept: u64 = values.counts.values().sum();
        assert_eq!(kept + values.others, 2 * (MOST_VALUES as u64 + 5));
    }
}
