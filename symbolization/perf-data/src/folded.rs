/// Stacks as FlameGraph's scripts read them: one line for each with a count, `a;b;c 12`, ordered by
/// the functions' names from the root on.
///
/// `parent`, `function`: per stack, as in `FunctionStacks`; `names`: per function; `counts`: per
/// stack. What would break a line or a frame is replaced: `;` by `:`, control characters by `?`.
pub fn write_folded(parent: &[i64], function: &[i64], names: &[String], counts: &[i64]) -> Vec<u8> {
    let names: Vec<String> = names.iter().map(|name| frame(name)).collect();
    let name = |stack: usize| -> &str {
        let function = function.get(stack).and_then(|f| usize::try_from(*f).ok());
        function.and_then(|f| names.get(f)).map_or("", |name| name)
    };
    // By parent (roots first), then by name: the children of one are side by side.
    let mut order: Vec<usize> = (0..parent.len()).collect();
    order.sort_by(|a, b| {
        parent[*a]
            .cmp(&parent[*b])
            .then_with(|| name(*a).cmp(name(*b)))
    });
    let mut first = vec![0usize; parent.len() + 2];
    for above in parent {
        first[usize::try_from(above + 1).unwrap_or(0).min(parent.len()) + 1] += 1;
    }
    for i in 1..first.len() {
        first[i] += first[i - 1];
    }
    let children = |stack: i64| {
        let row = usize::try_from(stack + 1).unwrap_or(0);
        &order[first[row]..first[row + 1]]
    };
    let mut out = Vec::new();
    let mut line = String::new();
    // What is to be visited, with the length of the line in front of it.
    let mut pending: Vec<(usize, usize)> = children(-1).iter().rev().map(|s| (*s, 0)).collect();
    while let Some((stack, length)) = pending.pop() {
        line.truncate(length);
        if length > 0 {
            line.push(';');
        }
        line.push_str(name(stack));
        let count = counts.get(stack).copied().unwrap_or(0);
        if count > 0 {
            out.extend_from_slice(line.as_bytes());
            out.extend_from_slice(format!(" {count}\n").as_bytes());
        }
        let below = children(stack as i64).iter().rev();
        pending.extend(below.map(|child| (*child, line.len())));
    }
    out
}

fn frame(name: &str) -> String {
    let clean = name.chars().map(|c| match c {
        ';' => ':',
        c if c.is_control() => '?',
        c => c,
    });
    clean.collect()
}
