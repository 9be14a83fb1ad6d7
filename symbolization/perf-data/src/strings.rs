use hashbrown::HashMap;

/// Distinct strings, by number.
#[derive(Debug, Default)]
pub(crate) struct Strings {
    pub(crate) list: Vec<String>,
    known: HashMap<String, u32>,
}

impl Strings {
    pub(crate) fn intern(&mut self, text: &str) -> u32 {
        if let Some(number) = self.known.get(text) {
            return *number;
        }
        self.list.push(text.into());
        self.known.insert(text.into(), self.list.len() as u32 - 1);
        self.list.len() as u32 - 1
    }
}
