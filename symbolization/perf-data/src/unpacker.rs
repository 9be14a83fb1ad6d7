use crate::bytes::{record_head, Order};
use crate::MEMORY_FACTOR;

/// What any recording may unpack to, and keep of that, however small it is. There is no ratio of
/// what is unpacked that tells a bomb: dumps of a deep user stack that hardly changes shrink to a
/// thousandth (`perf record -z --call-graph dwarf,65528`). It is read piece by piece, so that it
/// costs time alone.
const UNPACKED: u64 = 64 << 30;
const KEPT: u64 = 1 << 30;
/// How many times its size a larger recording may unpack to.
const UNPACKED_FACTOR: u64 = 1024;
/// What a record costs besides its bytes.
const LEAST: u64 = 256;

/// One Zstandard stream over all compressed records, whose ends need not be those of records.
pub(crate) struct Unpacker {
    decoder: zstd::stream::raw::Decoder<'static>,
    buffer: Vec<u8>,
    /// What was unpacked of a record that is not complete.
    pub(crate) rest: Vec<u8>,
    unpacked: u64,
    kept: u64,
}

impl Unpacker {
    /// For a recording of so many bytes.
    pub(crate) fn new(size: usize) -> Result<Self, String> {
        let size = size as u64;
        Ok(Unpacker {
            decoder: zstd::stream::raw::Decoder::new().map_err(|error| error.to_string())?,
            buffer: vec![0; 256 * 1024],
            rest: Vec::new(),
            unpacked: UNPACKED.max(size.saturating_mul(UNPACKED_FACTOR)),
            kept: KEPT.max(size.saturating_mul(MEMORY_FACTOR as u64)),
        })
    }

    /// `visit` tells how many bytes it keeps of a record.
    pub(crate) fn unpack(
        &mut self,
        mut packed: &[u8],
        order: Order,
        mut visit: impl FnMut(u32, u16, &[u8]) -> usize,
    ) -> Result<(), String> {
        use zstd::stream::raw::Operation;
        const TOO_MUCH: &str = "its compressed data unpack to implausibly much";
        loop {
            let status = self
                .decoder
                .run_on_buffers(packed, &mut self.buffer)
                .map_err(|error| format!("its compressed data: {error}"))?;
            packed = packed.get(status.bytes_read..).unwrap_or_default();
            let written = status.bytes_written;
            self.rest.extend_from_slice(&self.buffer[..written]);
            let mut at = 0;
            while let Some((kind, misc, size)) = record_head(&self.rest[at..], order)? {
                let kept = visit(kind, misc, &self.rest[at + 8..at + size]);
                at += size;
                let cost = LEAST.max(size as u64);
                self.unpacked = self.unpacked.checked_sub(cost).ok_or(TOO_MUCH)?;
                self.kept = self.kept.checked_sub(kept as u64).ok_or(TOO_MUCH)?;
            }
            self.rest.drain(..at);
            if packed.is_empty() && written < self.buffer.len() {
                return Ok(());
            }
            if status.bytes_read == 0 && written == 0 {
                return Err("its compressed data make no progress".into());
            }
        }
    }
}
