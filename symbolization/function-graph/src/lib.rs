//! The text of ftrace's tracer function_graph, as `trace` has it: which calls of functions ended,
//! and how long each took.
//!
//! A line is `[CPU)] [TASK-PID |] [MARK] DURATION us | FUNCTION`
//! (kernel/trace/trace_functions_graph.c). FUNCTION is `name();` of a call within which nothing
//! else was traced, `name() {` where one begins, and `} /* name */` where one ends, with the option
//! funcgraph-tail. A call has its duration on the line where it ends. Durations have
//! nanoseconds below 10 ms; the kernel prints fewer digits of longer ones
//! (trace_print_graph_duration()).

use hashbrown::HashMap;

/// N calls, in the order of their lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Which of the functions that were asked for.
    pub function: Vec<u32>,
    /// How long it took, in nanoseconds.
    pub duration: Vec<u64>,
}

/// The calls of `functions` in `text`, which may be anything. A name there may have a compiler's
/// suffix behind the function's: `name.isra.0`.
pub fn calls(text: &[u8], functions: &[&str]) -> Calls {
    let mut numbers = HashMap::new();
    for (number, name) in (0u32..).zip(functions) {
        numbers.entry(name.as_bytes()).or_insert(number);
    }
    let mut found = Calls::default();
    for line in text.split(|&byte| byte == b'\n') {
        if let Some((name, duration)) = ended(line) {
            if let Some(&number) = numbers.get(name) {
                found.function.push(number);
                found.duration.push(duration);
            }
        }
    }
    found
}

/// The function of a call that ends on a line, without suffix, and its duration in nanoseconds.
fn ended(line: &[u8]) -> Option<(&[u8], u64)> {
    let bar = line.iter().rposition(|&byte| byte == b'|')?;
    let (before, text) = (&line[..bar], line[bar + 1..].trim_ascii());
    let name = match text.strip_prefix(b"}") {
        Some(tail) => tail.trim_ascii().strip_prefix(b"/*")?.trim_ascii(),
        None if text.ends_with(b"{") => return None,
        None => text,
    };
    let end = name
        .iter()
        .position(|&byte| !(byte.is_ascii_alphanumeric() || byte == b'_'))?;
    let duration = duration(before)?;
    (end > 0).then(|| (&name[..end], duration))
}

/// Nanoseconds of the text in front of the last bar, which ends with `12.345 us`.
fn duration(before: &[u8]) -> Option<u64> {
    let text = before
        .trim_ascii_end()
        .strip_suffix(b"us")?
        .trim_ascii_end();
    let start = text
        .iter()
        .rposition(|&byte| !(byte.is_ascii_digit() || byte == b'.'))
        .map_or(0, |at| at + 1);
    let number = &text[start..];
    let point = number.iter().position(|&byte| byte == b'.');
    let (whole, part) = match point {
        Some(at) => (&number[..at], &number[at + 1..]),
        None => (number, &number[..0]),
    };
    if whole.is_empty() || part.len() > 3 || part.contains(&b'.') {
        return None;
    }
    let mut nanoseconds = 0u64;
    for at in 0..whole.len() + 3 {
        let digit = match at.checked_sub(whole.len()) {
            None => whole[at],
            Some(behind) => part.get(behind).copied().unwrap_or(b'0'),
        };
        nanoseconds = nanoseconds
            .checked_mul(10)?
            .checked_add(u64::from(digit - b'0'))?;
    }
    Some(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "\
# tracer: function_graph
#
#     DURATION                  FUNCTION CALLS
#      |   |                     |   |   |   |
   0.123 us    |  inner();
               |  outer() {
 + 12.5 us     |    inner.isra.0 [module]();
 ! 100 us      |  } /* outer */
 0) work-1 |   10234.5 us |  } /* outer.constprop.2 <-caller */
 ------------------------------------------
 ==========> |
   0.123 us    |  other();
   1.2345 us   |  inner();
   99999999999999999999.0 us |  inner();
   us |  inner();
   1.000 us    |  }
CPU:0 [LOST 5 EVENTS]
";

    #[test]
    fn calls_have_their_functions_and_durations() {
        let found = calls(TRACE.as_bytes(), &["outer", "inner", "outer"]);
        assert_eq!(found.function, [1, 1, 0, 0]);
        assert_eq!(found.duration, [123, 12_500, 100_000, 10_234_500]);
    }

    #[test]
    fn any_part_of_a_trace_is_read() {
        for at in 0..TRACE.len() {
            let (before, behind) = TRACE.as_bytes().split_at(at);
            for part in [before, behind] {
                let found = calls(part, &["inner"]);
                assert_eq!(found.function.len(), found.duration.len());
            }
        }
    }
}
