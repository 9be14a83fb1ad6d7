use kernel_symbols::Result;

use crate::types::{Id, Kind, Types};

/// How many pointers, arrays and qualifiers a name shows.
const MOST_PARTS: usize = 16;

/// A type as C writes it: `struct mm_struct *`, `char[16]`.
pub fn name(types: &dyn Types, id: Id) -> Result<String> {
    let (mut next, mut before, mut after) = (Some(id), String::new(), String::new());
    let mut pointers = String::new();
    for _ in 0..MOST_PARTS {
        let Some(id) = next else {
            return Ok(joined(&before, "void", &pointers, &after));
        };
        let found = types.get(id)?;
        match found.kind {
            Kind::Pointer => pointers.insert(0, '*'),
            Kind::Array if pointers.is_empty() => after.push_str(&format!("[{}]", found.size)),
            Kind::Array => {
                // A pointer to an array.
                pointers = format!("({pointers})[{}]", found.size);
            }
            // What qualifies a pointer stands behind it, and says nothing of layout.
            Kind::Qualifier(word) if pointers.is_empty() || !word.is_empty() => {
                if !word.is_empty() && !before.contains(word) {
                    before = format!("{before}{word} ");
                }
            }
            Kind::Qualifier(_) => {}
            Kind::Function => return Ok(joined(&before, "function", &pointers, &after)),
            kind => {
                let known = match (kind, found.name.as_str()) {
                    (Kind::Struct, "") => "struct {...}".into(),
                    (Kind::Union, "") => "union {...}".into(),
                    (Kind::Enumeration, "") => "enum {...}".into(),
                    (_, "") => "(no name)".into(),
                    (Kind::Struct, name) => format!("struct {name}"),
                    (Kind::Union, name) => format!("union {name}"),
                    (Kind::Enumeration, name) => format!("enum {name}"),
                    (_, name) => name.to_owned(),
                };
                return Ok(joined(&before, &known, &pointers, &after));
            }
        }
        next = found.target;
    }
    Ok("(too long a type)".into())
}

fn joined(before: &str, name: &str, pointers: &str, after: &str) -> String {
    let space = if pointers.is_empty() { "" } else { " " };
    format!("{before}{name}{space}{pointers}{after}")
}
