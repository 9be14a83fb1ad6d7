use crate::script_frame::{behind_a_header, chain_frame};

/// How a sample is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Written {
    /// Frames may follow, a line each.
    #[default]
    InLines,
    /// All of it is in this line.
    InOneLine,
}

/// The header of a sample: `comm pid/tid [cpu] misc time: period event: columns`, of which `-F`
/// chooses some.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head<'t> {
    pub(crate) period: u64,
    /// Empty where the text does not name it.
    pub(crate) event: &'t str,
    /// The columns behind the event.
    pub(crate) rest: &'t str,
    pub(crate) written: Written,
}

impl Default for Head<'_> {
    fn default() -> Self {
        Head {
            period: 1,
            event: "",
            rest: "",
            written: Written::InLines,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Header<'t> {
    Sample(Head<'t>),
    /// Of another record (`--show-mmap-events`); some say how many samples were lost.
    Other {
        lost: u64,
    },
}

/// A word of a line: where it begins and ends.
fn words(line: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = line.get(at..)?;
        let start = at + rest.find(|c: char| !c.is_whitespace())?;
        let length = line[start..].find(char::is_whitespace);
        at = length.map_or(line.len(), |length| start + length);
        Some((start, at))
    })
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// `14677.176389:`
pub(crate) fn is_time(word: &str) -> bool {
    let number = word.strip_suffix(':').and_then(|word| word.split_once('.'));
    number.is_some_and(|(seconds, fraction)| all_digits(seconds) && all_digits(fraction))
}

/// `[001]`
fn is_cpu(word: &str) -> bool {
    let inside = word
        .strip_prefix('[')
        .and_then(|word| word.strip_suffix(']'));
    inside.is_some_and(all_digits)
}

/// `4711`, `4711/4712`; perf gives -1 where it does not know.
fn is_process(word: &str) -> bool {
    let part = |text: &str| all_digits(text.strip_prefix('-').unwrap_or(text));
    let (pid, tid) = word.split_once('/').unwrap_or((word, "0"));
    part(pid) && part(tid)
}

/// The mode, and what the record says besides: `K`, `USp`.
fn is_misc(word: &str) -> bool {
    word.len() <= 6 && word.bytes().all(|b| b"KUHGgMESp".contains(&b))
}

/// The header in a line, known by what is in front of its event: the time, else the processor, else
/// the process.
pub(crate) fn head(line: &str) -> Option<Header<'_>> {
    let mut before = None;
    let mut cpu = None;
    let mut process = None;
    for (start, end) in words(line) {
        let word = &line[start..end];
        let placed = |word| is_process(word) || is_cpu(word) || is_misc(word);
        if is_time(word) && (before.is_none_or(placed) || word.len() > ".000000:".len()) {
            return behind(line, end, true);
        }
        if cpu.is_none() && is_cpu(word) && before.is_some() {
            cpu = Some((end, before.is_some_and(is_process)));
        }
        if process.is_none() && is_process(word) {
            process = Some((start, end));
        }
        before = Some(word);
    }
    if let Some((end, certain)) = cpu {
        return behind(line, end, certain);
    }
    let (start, end) = process?;
    // perf pads periods to ten digits, and processes to five or seven.
    if is_period(line, start, end) && start > 0 {
        return behind(line, line[..start].trim_end().len(), false);
    }
    let (next, last) = words(line).find(|(next, _)| *next >= end)?;
    // The name of a thread may end with a number.
    let padded = next - end > 1 && matches!(last - end - 1, 5 | 7);
    match padded && all_digits(&line[next..last]) {
        true => behind(line, last, false),
        false => behind(line, end, false),
    }
}

/// Whether that word is as wide as a period.
fn is_period(line: &str, start: usize, end: usize) -> bool {
    let before = line[..start].trim_end().len();
    let width = end - before - usize::from(before > 0);
    width >= 10 && all_digits(&line[start..end])
}

/// The rest of a header, which is none if no event follows; or, if `certain`, a frame or nothing.
fn behind(line: &str, from: usize, certain: bool) -> Option<Header<'_>> {
    let after = &line[from..];
    let mut next = words(after)
        .map(|(start, end)| (&after[start..end], end))
        .peekable();
    if certain || next.peek().is_none() {
        // Between processor and event.
        next.next_if(|(word, _)| is_misc(word));
    }
    if let Some((word, end)) = next.peek() {
        if let Some(kind) = word.strip_prefix("PERF_RECORD_") {
            return Some(other(kind, &after[*end..]));
        }
    }
    let at =
        |word: Option<&(&str, usize)>| word.map_or(after.len(), |(word, end)| end - word.len());
    let columns = at(next.peek());
    let period = next
        .next_if(|(word, _)| all_digits(word))
        .and_then(|(word, _)| word.parse().ok());
    let event = at(next.peek());
    let head = |event, rest: usize| Head {
        period: period.unwrap_or(1),
        event,
        rest: after[rest..].trim(),
        written: Written::InLines,
    };
    if let Some((word, end)) = next.next() {
        let named = |end: usize| {
            after[event..end]
                .strip_suffix(':')
                .filter(|name| !name.is_empty())
        };
        // `raw 0x1a8:`, `unknown tracepoint:`
        let two = matches!(word, "raw" | "unknown");
        let end = if two {
            next.next().map_or(end, |(_, end)| end)
        } else {
            end
        };
        if let Some(name) = named(end) {
            return Some(Header::Sample(head(name, end)));
        }
    }
    if !certain {
        return None;
    }
    if event == after.len() && !after[..event].trim().is_empty() {
        // One number: an address is padded to sixteen digits.
        let address = after.trim_end().len() > 16;
        let head = Head {
            period: if address { 1 } else { period.unwrap_or(1) },
            ..Head::default()
        };
        return Some(Header::Sample(head));
    }
    for rest in [event, columns] {
        let named = after[rest..].trim().is_empty() || behind_a_header(&after[rest..]).is_some();
        if named {
            let head = head("", rest);
            let period = if rest == event { head.period } else { 1 };
            return Some(Header::Sample(Head { period, ..head }));
        }
    }
    None
}

/// A record that is no sample.
fn other<'t>(kind: &str, after: &str) -> Header<'t> {
    let number = after
        .trim()
        .strip_prefix("lost ")
        .and_then(|text| text.trim().parse().ok());
    let lost = number.filter(|_| kind.starts_with("LOST")).unwrap_or(0);
    Header::Other { lost }
}

/// The end of a header, `period event:`; both may be missing.
fn last(text: &str, written: Written) -> Head<'_> {
    let mut text = text.trim_end();
    let mut event = "";
    if let Some(name) = text.strip_suffix(':') {
        event = name.rsplit(' ').next().unwrap_or_default();
        text = name.strip_suffix(event).unwrap_or_default().trim_end();
    }
    let start = text.rfind(' ').map_or(0, |space| space + 1);
    let period = Some(&text[start..]).filter(|_| is_period(text, start, text.len()));
    Head {
        period: period.and_then(|word| word.parse().ok()).unwrap_or(1),
        event,
        written,
        ..Head::default()
    }
}

/// The header in a line that has neither time nor processor nor process, `comm event:`, known by
/// the frame in the `next` line; or, among those without an event (`nameless`), by an empty one.
pub(crate) fn named_by_the_next<'t>(line: &'t str, next: &str, nameless: bool) -> Option<Head<'t>> {
    let follows = next.starts_with('\t') && chain_frame(next).is_some();
    let placed = !line.starts_with(' ') || line.trim_end().ends_with(':');
    let empty = nameless && next.is_empty() && line.ends_with(' ');
    ((follows || empty) && placed).then(|| last(line, Written::InLines))
}

/// The same, known by a tracepoint's event, or by the space that perf puts behind an event.
pub(crate) fn named_by_its_event(line: &str) -> Option<Head<'_>> {
    let found = words(line).find(|(start, end)| is_tracepoint(&line[*start..*end]));
    let end = match found {
        Some((_, end)) => end,
        None if line.ends_with(": ") && !line.ends_with(" : ") => line.len(),
        None => return None,
    };
    Some(Head {
        rest: line[end..].trim(),
        ..last(&line[..end], Written::InLines)
    })
}

/// `sched:sched_switch:`
fn is_tracepoint(word: &str) -> bool {
    let name = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let parts = word.strip_suffix(':').and_then(|word| word.split_once(':'));
    parts.is_some_and(|(group, event)| name(group) && name(event))
}

/// The same, known by the frame in the line itself.
pub(crate) fn named_by_its_frame(line: &str) -> Option<Head<'_>> {
    // An address is padded to sixteen digits.
    let wide = |(start, end): &(usize, usize)| {
        let before = line[..*start].trim_end().len();
        line[*start..*end].bytes().all(|b| b.is_ascii_hexdigit()) && end - before > 16
    };
    let (start, _) = words(line).find(wide)?;
    let rest = &line[start..];
    behind_a_header(rest).map(|_| Head {
        rest,
        ..last(&line[..start], Written::InOneLine)
    })
}
