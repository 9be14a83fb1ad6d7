use crate::text_profile::{Builder, TextFunction, TextProfile};

/// The head of a sample as `perf script` prints it: `comm pid/tid [cpu] time: period event:`.
#[derive(Debug)]
struct Head<'t> {
    period: u64,
    event: &'t str,
    /// Behind the event: address, symbol and object of a sample without a call chain.
    rest: &'t str,
}

pub(crate) fn is_header(line: &str) -> bool {
    head(line).is_some()
}

fn head(line: &str) -> Option<Head<'_>> {
    if line.starts_with([' ', '\t']) && line.trim_start().starts_with('(') {
        return None;
    }
    // The time is the one thing with a certain form: digits, a point, digits, a colon.
    let mut from = 0;
    let (time_start, time_end) = loop {
        let colon = from + line.get(from..)?.find(": ")?;
        let start = line[..colon].rfind(' ').map_or(0, |space| space + 1);
        let (seconds, fraction) = line[start..colon].split_once('.').unwrap_or(("", ""));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if digits(seconds) && digits(fraction) {
            break (start, colon);
        }
        from = colon + 2;
    };
    let mut before = line[..time_start].trim_end();
    // [cpu]
    if let Some(stripped) = before.strip_suffix(']') {
        before = stripped.rsplit_once('[')?.0.trim_end();
    }
    let (_comm, process) = before.rsplit_once(' ')?;
    if !process
        .bytes()
        .all(|b| b.is_ascii_digit() || b == b'/' || b == b'-')
    {
        return None;
    }
    let after = line[time_end + 2..].trim_start();
    let (first, rest) = after.split_once(char::is_whitespace).unwrap_or((after, ""));
    let (period, after) = match first.parse::<u64>() {
        Ok(period) => (period, rest.trim_start()),
        Err(_) => (1, after),
    };
    let (event, rest) = after.split_once(char::is_whitespace).unwrap_or((after, ""));
    Some(Head {
        period,
        event: event.strip_suffix(':')?,
        rest: rest.trim(),
    })
}

/// Read all samples; what is neither a sample nor a frame is counted.
pub(crate) fn parse(text: &str) -> TextProfile {
    let mut builder = Builder::default();
    builder.out.format = "perf script";
    builder.out.sides_known = true;
    let mut frames: Vec<(u32, bool)> = Vec::new();
    let mut present: Option<(u32, u64)> = None;
    for line in text.lines() {
        let inside = present.is_some() && line.starts_with([' ', '\t']);
        if line.trim().is_empty() {
            end(&mut builder, &mut present, &mut frames);
        } else if line.starts_with('#') {
            continue;
        } else if let Some(frame) = frame(line.trim()).filter(|_| inside) {
            frames.push((builder.function(frame.0), frame.1));
        } else if let Some(head) = head(line) {
            end(&mut builder, &mut present, &mut frames);
            let event = builder.event(head.event);
            present = Some((event, head.period));
            if let Some((function, inlined)) = frame(head.rest) {
                frames.push((builder.function(function), inlined));
                end(&mut builder, &mut present, &mut frames);
            }
        } else {
            builder.out.unknown_lines += 1;
        }
    }
    end(&mut builder, &mut present, &mut frames);
    builder.finish()
}

/// The present sample is complete: its frames came leaf first.
fn end(builder: &mut Builder, present: &mut Option<(u32, u64)>, frames: &mut Vec<(u32, bool)>) {
    if let Some((event, period)) = present.take() {
        builder.add(frames.iter().rev().copied(), event, period, 1);
    }
    frames.clear();
}

/// `ffffffff810d4c9f do_syscall_64+0x3f ([kernel.kallsyms])`; an inlined frame has `(inlined)`.
fn frame(line: &str) -> Option<(TextFunction, bool)> {
    let (address, rest) = line.split_once(' ')?;
    let number = u64::from_str_radix(address, 16).ok()?;
    let rest = rest.trim();
    let (symbol, object) = match rest
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once(" ("))
    {
        Some((symbol, object)) => (symbol.trim(), object),
        None => (rest, ""),
    };
    let name = match symbol.rsplit_once("+0x") {
        Some((name, offset)) if offset.bytes().all(|b| b.is_ascii_hexdigit()) => name,
        _ => symbol,
    };
    // Not just the upper half: what stands where a frame pointer should be may be anything.
    let in_kernel =
        number >> 56 == 0xff || object.starts_with("[kernel.") || object.ends_with(".ko");
    let inlined = object == "inlined";
    let object = if object.starts_with("[kernel.") || (inlined && in_kernel) {
        "vmlinux"
    } else if object == "[unknown]" || inlined {
        ""
    } else {
        let file = object.rsplit_once('/').map_or(object, |(_, file)| file);
        match in_kernel {
            true if file.starts_with("vmlinux") => "vmlinux",
            true => file.trim_matches(['[', ']']).trim_end_matches(".ko"),
            false => file,
        }
    };
    let unresolved = name == "[unknown]" || name.is_empty();
    let function = TextFunction {
        name: name.into(),
        object: object.into(),
        in_kernel,
        unresolved,
    };
    Some((function, inlined))
}
