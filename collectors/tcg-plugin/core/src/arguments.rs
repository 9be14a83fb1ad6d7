//! The plugin's arguments, `NAME=VALUE` each.

use std::ffi::{c_char, c_int, CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::allocations::allocators::{Allocator, Layout};
use crate::console;
use crate::lines::regions::Symbols;
use crate::probes::Probe;

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Instructions, and with `calls` who called whom; for that the guest must run in one thread.
    Counts {
        /// The call tree, too.
        calls: bool,
        /// Where a seed is given, vCPUs take turns at random places in the kernel.
        seed: Option<u64>,
        /// Where it is given, what runs from this address of the kernel on until a program begins,
        /// instead of what runs between marks.
        boot: Option<u64>,
    },
    /// Lines that change hands, of so many bytes.
    Sharing(u64),
    /// Distinct lines, of a kernel that has these variables.
    Lines(Symbols),
}

/// What a user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The file for the result.
    pub out: PathBuf,
    /// What the plugin may take, in MiB.
    pub memory: usize,
    /// What is recorded.
    pub records: Records,
    /// What ends a boot when the console shows it, instead of a program that begins.
    pub until: Option<Vec<u8>>,
    /// Variables that are read where functions begin.
    pub probes: Vec<Probe>,
    /// Where the kernel's allocators begin, and how what they use is laid out.
    pub allocators: Option<(Layout, Vec<Allocator>)>,
}

const KNOWN: &str = "out=PATH and memory=MEBIBYTES are needed, calls=on or calls=off and \
                     turns=SEED and boot=ADDRESS and until=HEX and probe=PROBE and layout=NUMBERS with \
                     allocator=ALLOCATOR, or sharing=64 or sharing=128, or lines=ADDRESSES";

impl Arguments {
    /// Those that QEMU gave to `qemu_plugin_install`; else what is wrong with them.
    ///
    /// # Safety
    /// `argv` has `argc` C strings.
    pub unsafe fn of(argc: c_int, argv: *const *const c_char) -> Result<Arguments, String> {
        let indexes = 0..usize::try_from(argc).unwrap_or(0);
        // SAFETY: as promised.
        let words = indexes.map(|index| unsafe { CStr::from_ptr(*argv.add(index)) }.to_bytes());
        Arguments::parse(words)
    }

    fn parse<'w>(words: impl Iterator<Item = &'w [u8]>) -> Result<Arguments, String> {
        let (mut out, mut memory) = (None, None);
        let (mut calls, mut seed, mut boot, mut until) = (false, None, None, None);
        let mut others = None;
        let mut probes = Vec::new();
        let (mut layout, mut allocators) = (None, Vec::new());
        for word in words {
            let refused = || {
                format!(
                    "unknown argument {}; {KNOWN}",
                    String::from_utf8_lossy(word)
                )
            };
            let at = word.iter().position(|byte| *byte == b'=');
            let (name, value) = word.split_at(at.ok_or_else(refused)?);
            let value = &value[1..];
            let number = || -> Option<u64> { std::str::from_utf8(value).ok()?.parse().ok() };
            match (name, value) {
                (b"out", _) => out = Some(PathBuf::from(OsStr::from_bytes(value))),
                (b"memory", _) => memory = Some(number().ok_or_else(refused)? as usize),
                (b"calls", b"on" | b"off") => calls = value == b"on",
                (b"turns", _) => seed = Some(number().ok_or_else(refused)?),
                (b"boot", _) => {
                    let digits = std::str::from_utf8(value).ok();
                    let address = digits.and_then(|text| u64::from_str_radix(text, 16).ok());
                    boot = Some(address.ok_or_else(refused)?);
                }
                (b"until", _) => until = Some(console::bytes_of(value).ok_or_else(refused)?),
                (b"sharing", b"64" | b"128") => others = number().map(Records::Sharing),
                (b"lines", _) => {
                    let symbols = std::str::from_utf8(value).ok().and_then(Symbols::parse);
                    others = Some(Records::Lines(symbols.ok_or_else(refused)?));
                }
                (b"probe", _) => {
                    let probe = std::str::from_utf8(value).ok().and_then(Probe::parse);
                    probes.push(probe.ok_or_else(refused)?);
                }
                (b"layout", _) => {
                    let known = std::str::from_utf8(value).ok().and_then(Layout::parse);
                    layout = Some(known.ok_or_else(refused)?);
                }
                (b"allocator", _) => {
                    let known = std::str::from_utf8(value).ok().and_then(Allocator::parse);
                    allocators.push(known.ok_or_else(refused)?);
                }
                _ => return Err(refused()),
            }
        }
        let (Some(out), Some(memory)) = (out, memory) else {
            return Err(format!("an argument is missing; {KNOWN}"));
        };
        Ok(Arguments {
            out,
            memory,
            records: others.unwrap_or(Records::Counts { calls, seed, boot }),
            until,
            probes,
            allocators: layout.map(|layout| (layout, allocators)),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Arguments, String> {
        Arguments::parse(words.iter().map(|word| word.as_bytes()))
    }

    #[test]
    fn arguments_are_taken_apart() {
        let given = |records| {
            Ok(Arguments {
                out: PathBuf::from("/a=b"),
                memory: 5,
                records,
                until: None,
                probes: Vec::new(),
                allocators: None,
            })
        };
        let counts = |calls, seed| Records::Counts {
            calls,
            seed,
            boot: None,
        };
        assert_eq!(
            parsed(&["out=/a=b", "memory=5", "calls=on"]),
            given(counts(true, None))
        );
        let words = ["out=/a=b", "memory=5", "turns=7"];
        assert_eq!(parsed(&words), given(counts(false, Some(7))));
        let boot = Records::Counts {
            calls: true,
            seed: None,
            boot: Some(0xffff_ffff_8100_0000),
        };
        let words = ["out=/a=b", "memory=5", "calls=on", "boot=ffffffff81000000"];
        assert_eq!(parsed(&words), given(boot));
        let words = [&words[..], &["until=6f6b"]].concat();
        let until = Some(b"ok".to_vec());
        assert_eq!(parsed(&words).map(|given| given.until), Ok(until));
        let sharing = Records::Sharing(128);
        assert_eq!(
            parsed(&["memory=5", "sharing=128", "out=/a=b"]),
            given(sharing)
        );
        let symbols = Symbols::parse("1:2:3:4:5:6:7:8").unwrap();
        assert_eq!(
            parsed(&["memory=5", "lines=1:2:3:4:5:6:7:8", "out=/a=b"]),
            given(Records::Lines(symbols))
        );
    }

    #[test]
    fn others_are_refused() {
        for words in [
            &["out=o"][..],
            &["memory=5"],
            &["out=o", "memory=x"],
            &["out=o", "memory=5", "sharing=32"],
            &["out=o", "memory=5", "lines=64"],
            &["out=o", "memory=5", "calls=maybe"],
            &["out=o", "memory=5", "boot=start_kernel"],
            &["out=o", "memory=5", "boot=1", "until=ready"],
            &["out=o", "memory=5", "more"],
        ] {
            assert!(parsed(words).is_err(), "{words:?}");
        }
    }
}
