use std::io::{self, Read};
use std::path::Path;

use crate::{Error, Result};

/// No kernel's debug information comes near this; it bounds what a hostile file can ask for.
pub(crate) const MOST_BYTES: u64 = 4 << 30;

/// Real debug sections shrink 3 to 8 times, sparse ones (`.debug_aranges`) up to 30.
pub(crate) const MOST_RATIO: u64 = 256;

/// What any file may unpack to, however small it is: text that repeats itself, dumps of stacks and
/// zeros shrink to a thousandth.
const LEAST: u64 = 256 << 20;

/// zstd's `--long=27`: windows up to 128 MiB.
const WINDOW_LOG: u32 = 27;

/// How many bytes `packed` bytes may unpack to.
pub(crate) fn limit(packed: usize) -> u64 {
    MOST_BYTES.min((packed as u64).saturating_mul(MOST_RATIO).max(LEAST))
}

/// A compression, known by the bytes that it starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Zstd,
    Xz,
    Lzma,
    Gzip,
    Bzip2,
    Lz4Legacy,
}

impl Compression {
    pub(crate) fn of(data: &[u8]) -> Option<Self> {
        const MAGICS: [(&[u8], Compression); 6] = [
            (b"\x28\xb5\x2f\xfd", Compression::Zstd),
            (b"\xfd7zXZ\0", Compression::Xz),
            (b"\x5d\0\0", Compression::Lzma),
            (b"\x1f\x8b\x08", Compression::Gzip),
            (b"BZh", Compression::Bzip2),
            (b"\x02\x21\x4c\x18", Compression::Lz4Legacy),
        ];
        MAGICS
            .iter()
            .find(|(magic, _)| data.starts_with(magic))
            .map(|(_, kind)| *kind)
    }

    /// A reader of what `data` unpacks to. It ends when it has read more than `limit`.
    pub(crate) fn reader(self, data: &[u8]) -> io::Result<impl Read + '_> {
        let reader: Box<dyn Read + '_> = match self {
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(data)?;
                decoder.window_log_max(WINDOW_LOG)?;
                Box::new(decoder)
            }
            Compression::Xz => Box::new(liblzma::bufread::XzDecoder::new(data)),
            Compression::Lzma => {
                let stream = liblzma::stream::Stream::new_lzma_decoder(256 << 20)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(data, stream))
            }
            Compression::Gzip => Box::new(flate2::bufread::GzDecoder::new(data)),
            Compression::Bzip2 => Box::new(bzip2::bufread::BzDecoder::new(data)),
            Compression::Lz4Legacy => Box::new(lz4_legacy(data)?),
        };
        Ok(reader.take(limit(data.len()) + 1))
    }
}

/// Unpack all of `data`, which is `what` of the file at `path`.
pub(crate) fn unpack(kind: Compression, data: &[u8], path: &Path, what: &str) -> Result<Vec<u8>> {
    let limit = limit(data.len());
    let too_large = |declared| Error::TooLarge {
        path: path.into(),
        what: what.into(),
        declared,
        limit,
    };
    let failed =
        |error: io::Error| Error::damaged(path, format!("{what} does not unpack: {error}"));
    if kind == Compression::Zstd {
        // Most frames say how long they are; unpacking in one piece then spares a copy per window.
        if let Ok(Some(size)) = zstd::zstd_safe::get_frame_content_size(data) {
            if size > limit {
                return Err(too_large(size));
            }
            let single = zstd::zstd_safe::find_frame_compressed_size(data) == Ok(data.len());
            if let (true, Ok(size)) = (single, usize::try_from(size)) {
                return zstd::bulk::decompress(data, size).map_err(failed);
            }
        }
    }
    let mut out = Vec::new();
    let mut reader = kind.reader(data).map_err(failed)?;
    reader.read_to_end(&mut out).map_err(failed)?;
    if out.len() as u64 > limit {
        return Err(too_large(out.len() as u64));
    }
    Ok(out)
}

/// Unpack an ELF section that says it has `size` bytes.
pub(crate) fn unpack_section(
    zlib: bool,
    data: &[u8],
    size: u64,
    path: &Path,
    name: &str,
) -> Result<Vec<u8>> {
    let limit = limit(data.len());
    if size > limit {
        return Err(Error::TooLarge {
            path: path.into(),
            what: name.into(),
            declared: size,
            limit,
        });
    }
    let failed =
        |error: io::Error| Error::damaged(path, format!("{name} does not unpack: {error}"));
    let capacity = usize::try_from(size).unwrap_or(usize::MAX);
    let mut out;
    if zlib {
        out = Vec::with_capacity(capacity);
        flate2::bufread::ZlibDecoder::new(data)
            .take(size)
            .read_to_end(&mut out)
            .map_err(failed)?;
    } else {
        out = zstd::bulk::decompress(data, capacity).map_err(failed)?;
    }
    if out.len() != capacity {
        return Err(Error::damaged(
            path,
            format!("{name} has {} of {size} bytes", out.len()),
        ));
    }
    Ok(out)
}

/// The kernel's "lz4 -l": a magic, then blocks of at most 8 MiB, each with its packed size.
fn lz4_legacy(data: &[u8]) -> io::Result<io::Cursor<Vec<u8>>> {
    const BLOCK: usize = 8 << 20;
    let limit = limit(data.len());
    let mut out: Vec<u8> = Vec::new();
    let mut rest = data.get(4..).unwrap_or_default();
    let mut unpacked = vec![0; BLOCK];
    while let Some((size, tail)) = rest.split_first_chunk::<4>() {
        let Some(block) = tail.get(..u32::from_le_bytes(*size) as usize) else {
            break; // the kernel's trailing size word
        };
        if out.len() as u64 > limit {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "too large"));
        }
        let length = lz4_flex::block::decompress_into(block, &mut unpacked)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        out.extend_from_slice(&unpacked[..length]);
        rest = &tail[u32::from_le_bytes(*size) as usize..];
    }
    Ok(io::Cursor::new(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_end_at_the_limit() -> io::Result<()> {
        let zeros = io::repeat(0).take(300 << 20);
        let packed = zstd::stream::encode_all(io::BufReader::new(zeros), 1)?;
        let mut reader = Compression::Zstd.reader(&packed)?;
        let bytes = io::copy(&mut reader, &mut io::sink())?;
        assert_eq!(bytes, limit(packed.len()) + 1);
        let error = unpack(Compression::Zstd, &packed, Path::new("bomb"), "the file");
        assert!(matches!(error, Err(Error::TooLarge { .. })));
        Ok(())
    }

    #[test]
    fn what_repeats_itself_is_no_bomb() -> io::Result<()> {
        let plain = vec![b'x'; 8 << 20];
        let packed = zstd::bulk::compress(&plain, 19)?;
        assert!(packed.len() * 2000 < plain.len());
        let unpacked = unpack(Compression::Zstd, &packed, Path::new("text"), "the file");
        assert!(unpacked.is_ok_and(|unpacked| unpacked == plain));
        Ok(())
    }
}
