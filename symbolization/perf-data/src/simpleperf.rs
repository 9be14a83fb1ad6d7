use crate::text_profile::{Builder, TextFunction, TextProfile};

/// Whether a line can only be one of `simpleperf report-sample`.
pub(crate) fn is_certain(line: &str) -> bool {
    matches!(
        line.trim_end(),
        "meta_info:" | "sample:" | "lost_situation:"
    )
}

/// What a line without an indent begins.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    Sample,
    Lost,
    #[default]
    Other,
}

#[derive(Default)]
struct Sample<'t> {
    event: &'t str,
    count: u64,
    file: &'t str,
    /// Innermost function first.
    frames: Vec<(u32, bool)>,
}

/// Read the text of `simpleperf report-sample`: a line for each field, indented below its record.
pub(crate) fn parse(text: &str) -> TextProfile {
    let mut builder = Builder::default();
    builder.out.format = "simpleperf report-sample";
    builder.out.sides_known = true;
    let mut part = Part::Other;
    let mut sample = Sample::default();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else {
            if !line.trim().is_empty() {
                builder.not_understood(line);
            }
            continue;
        };
        if !line.starts_with(' ') {
            end(&mut builder, &mut sample, part);
            part = match key {
                "sample" => Part::Sample,
                "lost_situation" => Part::Lost,
                _ => Part::Other,
            };
            continue;
        }
        let value = value.trim();
        match (part, key.trim()) {
            (Part::Sample, "event_type") => sample.event = value,
            (Part::Sample, "event_count") => match value.parse() {
                Ok(count) => sample.count = count,
                Err(_) => builder.not_understood(line),
            },
            (Part::Sample, "file") => sample.file = value,
            (Part::Sample, "symbol") => {
                let name = value.split_once("[+").map_or(value, |(file, _)| {
                    // Code without a symbol is a file and an offset.
                    if value.ends_with(']') {
                        ""
                    } else {
                        file
                    }
                });
                let name = if name == "unknown" { "" } else { name };
                let function = TextFunction::named(name, sample.file, false);
                sample.frames.push((builder.function(function), false));
            }
            (Part::Lost, "lost_count") => builder.out.lost = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    end(&mut builder, &mut sample, part);
    builder.finish()
}

fn end(builder: &mut Builder, sample: &mut Sample<'_>, part: Part) {
    let mut sample = std::mem::take(sample);
    if part != Part::Sample {
        return;
    }
    if sample.frames.is_empty() {
        builder.out.frameless += 1;
        sample
            .frames
            .push((builder.function(TextFunction::default()), false));
    }
    let event = builder.event(sample.event);
    builder.add(sample.frames.into_iter().rev(), event, sample.count, 1);
}
