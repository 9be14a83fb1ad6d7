use std::io::Write;

const MOST_FRAMES: usize = 1024;
const KEPT_FRAMES: usize = 64;
const LEFT_OUT: &str = "[frames left out]";

/// Stacks as FlameGraph's scripts read them: one line for each with a count, `a;b;c 12`, ordered by
/// the functions' names from the root on.
///
/// `parent`, `function`: per stack, as in `FunctionStacks`; `names`: per function; `counts`: per
/// stack. What would break a line or a frame is replaced: `;` by `:`, control characters by `?`. Of
/// a stack with more than [`MOST_FRAMES`] the [`KEPT_FRAMES`] outermost and innermost are written:
/// each line repeats its stack, and deep recursion would make the text grow with its square.
pub fn write_folded(parent: &[i64], function: &[i64], names: &[String], counts: &[i64]) -> Vec<u8> {
    let names: Vec<String> = names.iter().map(|name| frame(name)).collect();
    let name = |stack: usize| -> &str {
        let function = function.get(stack).and_then(|f| usize::try_from(*f).ok());
        function.and_then(|f| names.get(f)).map_or("", |name| name)
    };
    let rank = ranks(&names);
    let rank = |stack: &usize| -> u32 {
        let function = function.get(*stack).and_then(|f| usize::try_from(*f).ok());
        function.and_then(|f| rank.get(f)).copied().unwrap_or(0)
    };
    // By parent (roots first), then by name: the children of one are side by side.
    let row = |above: i64| usize::try_from(above + 1).unwrap_or(0).min(parent.len());
    let mut first = vec![0usize; parent.len() + 2];
    for above in parent {
        first[row(*above) + 1] += 1;
    }
    for i in 1..first.len() {
        first[i] += first[i - 1];
    }
    let mut order = vec![0usize; parent.len()];
    let mut next = first.clone();
    for (stack, above) in parent.iter().enumerate() {
        let place = &mut next[row(*above)];
        order[*place] = stack;
        *place += 1;
    }
    for bounds in first.windows(2) {
        order[bounds[0]..bounds[1]].sort_by_key(rank);
    }
    let children = |stack: i64| {
        let row = usize::try_from(stack + 1).unwrap_or(0);
        &order[first[row]..first[row + 1]]
    };
    let mut out = Vec::new();
    let mut line = String::new();
    // Where each frame of the line ends.
    let mut ends: Vec<usize> = Vec::new();
    // What is to be visited, with the number of frames in front of it.
    let mut pending: Vec<(usize, usize)> = children(-1).iter().rev().map(|s| (*s, 0)).collect();
    while let Some((stack, depth)) = pending.pop() {
        ends.truncate(depth);
        line.truncate(ends.last().copied().unwrap_or(0));
        if depth > 0 {
            line.push(';');
        }
        line.push_str(name(stack));
        ends.push(line.len());
        let count = counts.get(stack).copied().unwrap_or(0);
        if count > 0 {
            if ends.len() > MOST_FRAMES {
                let (outer, inner) = (ends[KEPT_FRAMES - 1], ends[ends.len() - 1 - KEPT_FRAMES]);
                out.extend_from_slice(&line.as_bytes()[..outer]);
                out.extend_from_slice(format!(";{LEFT_OUT}").as_bytes());
                out.extend_from_slice(&line.as_bytes()[inner..]);
            } else {
                out.extend_from_slice(line.as_bytes());
            }
            let _ = writeln!(out, " {count}"); // writing to memory does not fail
        }
        let below = children(stack as i64).iter().rev();
        pending.extend(below.map(|child| (*child, depth + 1)));
    }
    out
}

/// The place of each name among all that differ, in their order; 0 is the empty one's.
fn ranks(names: &[String]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_unstable_by_key(|name| &names[*name]);
    let mut ranks = vec![0; names.len()];
    let mut last = (0, "");
    for name in order {
        if names[name] != last.1 {
            last = (last.0 + 1, &names[name]);
        }
        ranks[name] = last.0;
    }
    ranks
}

fn frame(name: &str) -> String {
    let clean = name.chars().map(|c| match c {
        ';' => ':',
        c if c.is_control() => '?',
        c => c,
    });
    clean.collect()
}
