use crate::script_frame::{
    behind_a_header, behind_chains, chain_frame, is_machine_state, TextFrame,
};
use crate::script_head::{
    head, is_time, named_by_its_event, named_by_its_frame, named_by_the_next, Head, Header, Written,
};
use crate::text_profile::{Builder, TextProfile};

/// What samples are called whose event the text does not name.
const NAMELESS: &str = "samples";

/// Whether a line can only be one of `perf script`; `stack`: it could be a folded stack, too.
pub(crate) fn is_certain(line: &str, stack: bool) -> bool {
    match head(line) {
        Some(_) => !stack || line.split_whitespace().any(is_time),
        None if stack => false,
        None => {
            (line.starts_with('\t') && chain_frame(line).is_some())
                || named_by_its_frame(line).is_some()
                || named_by_its_event(line).is_some()
        }
    }
}

/// Read all samples; lines that are neither of a sample nor of another record are counted.
pub(crate) fn parse(text: &str) -> TextProfile {
    let mut reader = Reader::default();
    reader.builder.out.format = "perf script";
    reader.builder.out.sides_known = true;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        reader.line(line, lines.peek().copied().unwrap_or_default());
    }
    reader.end();
    reader.builder.finish()
}

/// A sample of which all lines may not have been seen yet.
struct Present<'t> {
    event: u32,
    period: u64,
    /// What stands behind the event; its frame counts where no chain follows.
    columns: &'t str,
    /// Whether the frames of its chain begin with a tab.
    tabs: bool,
}

#[derive(Default)]
struct Reader<'t> {
    builder: Builder,
    present: Option<Present<'t>>,
    /// The chain of the present sample, innermost function first.
    frames: Vec<(u32, bool)>,
    /// There are samples whose event the text does not name.
    nameless: bool,
    /// The last line with a header was of another record, which may go on.
    other_record: bool,
}

impl<'t> Reader<'t> {
    fn line(&mut self, line: &'t str, next: &str) {
        let indented = line.starts_with([' ', '\t']);
        if line.trim().is_empty() {
            // Some print an empty line between a header and its chain.
            if !self.frames.is_empty() {
                self.end();
            }
        } else if line.starts_with('\t') {
            match chain_frame(line) {
                Some(frame) => self.frame(frame, true),
                None => self.not_understood(line),
            }
        } else if self.present.is_some() && is_machine_state(line) {
            // Columns of a sample that is known already.
        } else if let Some(header) = head(line) {
            self.header(header);
        } else if line.starts_with('#') {
            // perf's own header.
        } else if let Some(head) = named_by_the_next(line, next, self.nameless) {
            self.header(Header::Sample(head));
        } else if let Some(frame) = self.continued(line) {
            self.frame(frame, false);
        } else if let Some(head) = named_by_its_frame(line) {
            self.header(Header::Sample(head));
        } else if let Some(head) = named_by_its_event(line) {
            self.header(Header::Sample(head));
        } else if !(indented && self.present.is_some() && behind_chains(line)) {
            self.not_understood(line);
        }
    }

    /// The frame of a chain whose lines do not begin with a tab.
    fn continued(&self, line: &str) -> Option<TextFrame> {
        let open = self.present.as_ref().is_some_and(|sample| !sample.tabs);
        // What ends like an event is no frame: `dd cycles: `
        let open = open && !line.ends_with(": ");
        let frame = open.then(|| chain_frame(line)).flatten();
        // Without an indent only one that nothing else can be.
        frame.filter(|(function, inlined)| {
            line.starts_with(' ') || *inlined || !function.object.is_empty()
        })
    }

    fn header(&mut self, header: Header<'t>) {
        self.end();
        match header {
            Header::Other { lost } => {
                self.other_record = true;
                let sum = &mut self.builder.out.lost;
                *sum = sum.saturating_add(lost);
            }
            Header::Sample(head) => self.begin(&head),
        }
    }

    fn begin(&mut self, head: &Head<'t>) {
        let name = Some(head.event).filter(|name| !name.is_empty());
        self.nameless |= name.is_none();
        self.present = Some(Present {
            event: self.builder.event(name.unwrap_or(NAMELESS)),
            period: head.period,
            columns: head.rest,
            tabs: false,
        });
        if head.written == Written::InOneLine {
            self.end();
        }
    }

    fn frame(&mut self, (function, inlined): TextFrame, tabs: bool) {
        if self.present.is_none() {
            self.begin(&Head::default());
        }
        if let Some(sample) = &mut self.present {
            sample.tabs |= tabs;
        }
        self.frames.push((self.builder.function(function), inlined));
    }

    /// The present sample is complete.
    fn end(&mut self) {
        self.other_record = false;
        let Some(sample) = self.present.take() else {
            return;
        };
        if self.frames.is_empty() {
            let (function, inlined) = behind_a_header(sample.columns).unwrap_or_else(|| {
                self.builder.out.frameless += 1;
                TextFrame::default()
            });
            self.frames.push((self.builder.function(function), inlined));
        }
        let frames = self.frames.drain(..).rev();
        self.builder.add(frames, sample.event, sample.period, 1);
    }

    fn not_understood(&mut self, line: &str) {
        if !self.other_record {
            self.builder.not_understood(line);
        }
    }
}
