use crate::text_profile::TextFunction;

/// A function, and whether it was inlined into the next one out.
pub(crate) type TextFrame = (TextFunction, bool);

/// So many words of a line are tried: a line may have any number.
const MOST_TRIED: usize = 16;

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.len() <= 16 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A line of a chain: `ffffffff810d4c9f do_syscall_64+0x3f ([kernel.kallsyms])`; an inlined frame
/// has `(inlined)`.
pub(crate) fn chain_frame(line: &str) -> Option<TextFrame> {
    let line = line.trim();
    let (address, rest) = line.split_once(' ').unwrap_or((line, ""));
    is_hex(address).then(|| frame(address, rest.trim()))
}

/// The frame in the columns behind an event. Before it may stand what a tracepoint has to tell, the
/// data's address and what is there, and where they came from; behind it registers and branches.
pub(crate) fn behind_a_header(columns: &str) -> Option<TextFrame> {
    // A branch: from here to there.
    let columns = columns.split(" => ").next().unwrap_or_default();
    let mut found = Vec::new();
    let (mut at, mut prose, mut closed, mut source) = (0, false, false, false);
    for part in columns.split(' ') {
        let start = at;
        at += part.len() + 1;
        if part.is_empty() {
            continue;
        }
        let before = &columns[..start];
        let apart = start == 0 || before.ends_with("  ") || part.len() == 16;
        if is_hex(part) && (apart || before.trim_start().is_empty()) {
            let after = columns.get(at..).unwrap_or_default();
            let symbol = !after.is_empty() && !after.starts_with([' ', '|']);
            found.push((part, symbol.then_some(after), prose && !closed && !source));
        }
        // What a tracepoint tells may look like an address.
        prose |= !is_hex(part);
        closed = part.ends_with(')') || (closed && is_hex(part));
        source |= part.starts_with('|');
    }
    let mut named = found
        .iter()
        .rev()
        .take(MOST_TRIED)
        .filter_map(|(address, after, prose)| {
            let (name, owner) = within_line((*after)?);
            (!owner.is_empty() || !prose).then(|| function(address, name, owner))
        });
    let address = || found.iter().find(|(_, _, prose)| !prose);
    named
        .next()
        .or_else(|| address().map(|(address, ..)| function(address, "", "")))
}

/// The symbol and the object of a frame that columns may follow.
fn within_line(text: &str) -> (&str, &str) {
    let found = split_owner(text);
    if !found.1.is_empty() {
        return found;
    }
    // The first `(…)` that is an object's.
    let ends = text.match_indices(") ").map(|(end, _)| end + 1);
    ends.take(MOST_TRIED)
        .map(|end| split_owner(&text[..end]))
        .find(|(_, owner)| !owner.is_empty())
        .unwrap_or_else(|| (text.split("  ").next().unwrap_or_default(), ""))
}

fn frame(address: &str, text: &str) -> TextFrame {
    let (name, owner) = split_owner(text);
    function(address, name, owner)
}

/// The symbol, and the object behind it in parentheses: `f(int) (/tmp/a (deleted))`.
fn split_owner(text: &str) -> (&str, &str) {
    let text = text.trim_end();
    let Some(inside) = text.strip_suffix(')') else {
        return (text, "");
    };
    let mut depth = 1;
    let balanced = inside.bytes().rposition(|byte| {
        depth += i32::from(byte == b')') - i32::from(byte == b'(');
        depth == 0
    });
    let open = match balanced {
        Some(open) if open == 0 || inside[..open].ends_with(' ') => open,
        // A path may have one parenthesis.
        None => inside.rfind(" (").map_or(text.len(), |space| space + 1),
        Some(_) => text.len(),
    };
    match inside.get(open + 1..) {
        // `f(int) (.cold)`: a part of the function.
        Some(owner) if !owner.starts_with('.') || owner.contains('/') => {
            (text[..open].trim_end(), owner)
        }
        _ => (text, ""),
    }
}

/// The function of that address, symbol and object.
fn function(address: &str, symbol: &str, owner: &str) -> TextFrame {
    let name = without_offset(symbol);
    let inlined = owner == "inlined";
    // Not just the upper half: what stands where a frame pointer should be may be anything.
    let high = address.len() == 16 && address.as_bytes().starts_with(b"ff");
    let owner = if inlined { "" } else { without_offset(owner) };
    (TextFunction::named(name, owner, high), inlined)
}

fn without_offset(text: &str) -> &str {
    match text.rsplit_once("+0x") {
        Some((name, offset)) if offset.bytes().all(|b| b.is_ascii_hexdigit()) => name,
        _ => text,
    }
}

/// Whether a line is of the registers or instructions that perf prints behind a chain.
pub(crate) fn is_machine_state(line: &str) -> bool {
    let line = line.trim_start();
    let starts = ["ABI:", "insn:", "ilen:"];
    starts.iter().any(|start| line.starts_with(start))
}

/// Whether a line is of what else perf prints behind a chain or below a frame: lines of source code,
/// branches, what a program made, physical addresses.
pub(crate) fn behind_chains(line: &str) -> bool {
    let line = line.trim().trim_end_matches(" (inlined)");
    let number =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'?');
    let offset = line
        .strip_suffix(']')
        .and_then(|line| line.rsplit_once('['));
    line.rsplit_once(':').is_some_and(|(_, end)| number(end))
        || offset.is_some_and(|(_, at)| is_hex(at))
        || ["0x", "BPF ", "|"]
            .iter()
            .any(|start| line.starts_with(start))
        || line.split(' ').all(|word| word.is_empty() || is_hex(word))
}
