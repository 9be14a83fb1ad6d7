use hashbrown::HashMap;

/// Distinct strings; the first is empty.
#[derive(Debug)]
pub(crate) struct Strings {
    list: Vec<String>,
    known: HashMap<String, u32>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Strings {
            list: Vec::new(),
            known: HashMap::new(),
        };
        strings.number("");
        strings
    }
}

impl Strings {
    /// The index of a string, which is added if it is new.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let number = self.list.len() as u32;
        self.list.push(text.to_owned());
        self.known.insert(text.to_owned(), number);
        number
    }

    pub(crate) fn into_list(self) -> Vec<String> {
        self.list
    }
}
