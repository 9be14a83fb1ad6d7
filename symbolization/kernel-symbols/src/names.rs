//! What mangled names of C++ and Rust stand for, as `c++filt` and perf write it.

use std::fmt::{self, Write};

use cpp_demangle::{BorrowedSymbol, DemangleOptions, ParseOptions};

/// A mangled name that stands for more bytes stays mangled, and so does a longer one. Names refer back
/// to their own parts, so that 100 bytes can stand for gigabytes. The longest name of this project's
/// own libraries has 2,600 bytes.
pub(crate) const MOST_NAME_BYTES: usize = 64 << 10;

/// How many times as long a name may become. Of 120,000 names of Debian's libraries, one becomes 29
/// times as long.
const MOST_RATIO: usize = 64;

/// How deep the parts of a C++ name may be nested: the demangler recurses. Of 120,000 names of Debian's
/// libraries, none needs more.
const MOST_DEPTH: u32 = 96;

/// Whether a name looks like a mangled one of C++ or Rust.
pub(crate) fn is_mangled(name: &[u8]) -> bool {
    name.starts_with(b"_Z") || name.starts_with(b"_R")
}

/// What a mangled name stands for; also one of Rust that is demangled but for its hash. A C++ function
/// has its parameters, not what it returns. A compiler's suffix (`.cold`) stays as it is. None for a
/// name that is to stay the same.
pub fn demangled(name: &str) -> Option<String> {
    demangled_rust(name).or_else(|| demangled_cpp(name))
}

/// The same, of Rust alone.
pub(crate) fn demangled_rust(name: &str) -> Option<String> {
    if !is_mangled(name.as_bytes()) {
        return without_hash(name);
    }
    let mut out = Bounded::new(name);
    write!(out, "{:#}", rust(name)?).ok()?;
    Some(out.text)
}

fn demangled_cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > MOST_NAME_BYTES {
        return None;
    }
    let mut out = Bounded::new(name);
    let (mangled, suffix) = name.split_at(name.find('.').unwrap_or(name.len()));
    if let Some((kind, target)) = thunk(mangled) {
        write!(out, "{kind} thunk to {}", demangled_cpp(&target)?).ok()?;
    } else {
        out.write_str(&as_binutils(&cpp(mangled)?)).ok()?;
    }
    out.write_str(suffix).ok()?;
    Some(out.text)
}

fn rust(name: &str) -> Option<rustc_demangle::Demangle<'_>> {
    if name.len() > MOST_NAME_BYTES {
        return None;
    }
    let rust = rustc_demangle::try_demangle(name).ok()?;
    // Without a hash it may be C++'s as well.
    let is_v0 = name.starts_with("_R");
    let hashed = || name.split('E').any(|part| ends_in_hash(part, "17h"));
    (is_v0 || hashed()).then_some(rust)
}

fn cpp(name: &str) -> Option<String> {
    let depth = ParseOptions::default().recursion_limit(MOST_DEPTH);
    let symbol = BorrowedSymbol::new_with_options(name.as_bytes(), &depth).ok()?;
    let options = DemangleOptions::new().no_return_type();
    let options = options.recursion_limit(MOST_DEPTH);
    let mut out = Bounded::new(name);
    symbol.structured_demangle(&mut out, &options).ok()?;
    Some(out.text)
}

/// The function to which a virtual call is forwarded, mangled, and how (Itanium C++ ABI, 5.1.4).
fn thunk(name: &str) -> Option<(&'static str, String)> {
    let offset = |rest: &str, numbers| {
        (0..numbers).try_fold(rest.len(), |left, _| {
            let rest = &rest[rest.len() - left..];
            let digits = rest.strip_prefix('n').unwrap_or(rest);
            let end = digits.find(|c: char| !c.is_ascii_digit())?;
            Some(digits[end..].strip_prefix('_')?.len())
        })
    };
    let (kind, rest, numbers) = [("non-virtual", "_ZTh", 1), ("virtual", "_ZTv", 2)]
        .into_iter()
        .find_map(|(kind, start, numbers)| Some((kind, name.strip_prefix(start)?, numbers)))?;
    let left = offset(rest, numbers)?;
    Some((kind, format!("_Z{}", &rest[rest.len() - left..])))
}

/// `a::b::h0123456789abcdef` without what a compiler puts behind names of Rust, new in each build.
fn without_hash(name: &str) -> Option<String> {
    const HASH: usize = "::h0123456789abcdef".len();
    let at = name.rfind("::h")?;
    let whole = name.get(at..at + HASH)?;
    let suffix = &name[at + HASH..];
    let plain = suffix.is_empty() || suffix.starts_with('.') || suffix.starts_with(" [clone ");
    (at > 0 && plain && ends_in_hash(whole, "::h")).then(|| format!("{}{suffix}", &name[..at]))
}

fn ends_in_hash(text: &str, before: &str) -> bool {
    let Some(at) = text.len().checked_sub(16) else {
        return false;
    };
    let hash = text.as_bytes()[at..].iter();
    text.as_bytes()[..at].ends_with(before.as_bytes())
        && hash
            .copied()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The spelling of binutils and perf where cpp_demangle has another one: `8u` for `(unsigned int)8`,
/// `A<B>` for `A<B, >`, `A<void ()>` for `A<void()>`.
fn as_binutils(text: &str) -> String {
    const LITERALS: [(&str, &str); 6] = [
        ("(int)", ""),
        ("(unsigned int)", "u"),
        ("(long)", "l"),
        ("(unsigned long)", "ul"),
        ("(long long)", "ll"),
        ("(unsigned long long)", "ull"),
    ];
    let mut out = String::with_capacity(text.len() + 8);
    let mut angles = 0u32;
    // Of each open parenthesis: where a space goes before it, if it is a function type's.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut spaces: Vec<usize> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let literal = LITERALS.iter().find_map(|(kind, mark)| {
            let number = rest.strip_prefix(kind)?;
            let digits = number.strip_prefix('-').unwrap_or(number);
            let length = digits.find(|c: char| !c.is_ascii_digit())?;
            (length > 0).then(|| (number.len() - digits.len() + length, number, *mark))
        });
        if let Some((length, number, mark)) = literal {
            out.push_str(&number[..length]);
            out.push_str(mark);
            rest = &number[length..];
            continue;
        }
        if let Some(behind) = rest.strip_prefix(", >") {
            out.push('>');
            angles = angles.saturating_sub(1);
            rest = behind;
            continue;
        }
        let before = out.chars().next_back().unwrap_or(' ');
        rest = &rest[c.len_utf8()..];
        match c {
            '<' => angles += 1,
            '>' if before != '-' => angles = angles.saturating_sub(1),
            '(' => {
                let named = before.is_alphanumeric() || matches!(before, '_' | '>' | '*' | '&');
                open.push((angles > 0 && named).then_some(out.len()));
            }
            ')' => {
                let at = open.pop().flatten();
                spaces.extend(at.filter(|_| rest.starts_with([',', '>', ' ', ')'])));
            }
            _ => {}
        }
        out.push(c);
    }
    spaces.sort_unstable();
    for at in spaces.into_iter().rev().take(MOST_SPACES) {
        out.insert(at, ' ');
    }
    out
}

/// Inserting takes as long as the rest of the name.
const MOST_SPACES: usize = 256;

/// Text of a bounded length; writing more is an error.
struct Bounded {
    text: String,
    most: usize,
}

impl Bounded {
    fn new(mangled: &str) -> Self {
        Bounded {
            text: String::new(),
            most: MOST_NAME_BYTES.min(MOST_RATIO * mangled.len()),
        }
    }
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.text.len() + text.len() > self.most {
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_cxxfilt_and_perf() {
        for (mangled, expected) in [
            ("_ZN4beta6Worker3runEl", "beta::Worker::run(long)"),
            ("_Z4tmplIiElT_", "tmpl<int>(int)"),
            ("_ZNK1VltERKS_", "V::operator<(V const&) const"),
            (
                "_ZN12_GLOBAL__N_11fEi.cold",
                "(anonymous namespace)::f(int).cold",
            ),
            (
                "_ZZ4mainENKUllE0_clEl",
                "main::{lambda(long)#2}::operator()(long) const",
            ),
            ("_ZThn8_N1B1fEv", "non-virtual thunk to B::f()"),
            ("_ZTv0_n24_N1B1fEv", "virtual thunk to B::f()"),
            ("_Z1fSt5arrayIiLm3EE", "f(std::array<int, 3ul>)"),
            ("_Z1fSt8functionIFvvEE", "f(std::function<void ()>)"),
            ("_ZN1r1b1T4read17hedd5e97b7bbbae86E", "r::b::T::read"),
            (
                "_ZN35_$LT$r..b..T$u20$as$u20$r..Work$GT$4work17h0123456789abcdefE.llvm.99",
                "<r::b::T as r::Work>::work",
            ),
            ("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"),
            ("r::b::T::read::h0123456789abcdef", "r::b::T::read"),
            ("a::h0123456789abcdef.cold", "a.cold"),
        ] {
            assert_eq!(demangled(mangled).as_deref(), Some(expected), "{mangled}");
        }
    }

    #[test]
    fn other_names_stay() {
        for name in [
            "",
            "do_mprotect_pkey",
            "_Zombie",
            "_RESERVED",
            "_Z",
            "a::hot",
            "::h0123456789abcdef",
            "a::h0123456789abcdeg",
            "h0123456789abcdef",
            "é::h0123456789abcdé",
            "beta::Worker::run(long)",
        ] {
            assert_eq!(demangled(name), None, "{name}");
        }
    }

    #[test]
    fn names_have_bounds() {
        let deep = format!("_Z1f{}i", "P".repeat(60_000));
        assert_eq!(demangled(&deep), None);
        assert_eq!(demangled(&format!("_Z{}", "1a".repeat(1 << 20))), None);
        // Pairs of pairs of pairs, by references back.
        let mut doubled = String::from("_Z1f1A");
        let digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let mut last = String::from("S_");
        for digit in digits.chars().take(34) {
            doubled += &format!("1BI{last}{last}E");
            // Each template and its instance can be referred to.
            last = format!("S{digit}_");
        }
        assert!(demangled(&doubled).is_none_or(|name| name.len() <= MOST_NAME_BYTES));
    }
}
