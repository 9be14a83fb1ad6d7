/// The byte order of a recording: that of the machine that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

/// Reads numbers from the front of a slice; `None` once it is too short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'d> {
    rest: &'d [u8],
    order: Order,
}

impl<'d> Bytes<'d> {
    pub(crate) fn new(data: &'d [u8], order: Order) -> Self {
        Bytes { rest: data, order }
    }

    pub(crate) fn rest(&self) -> &'d [u8] {
        self.rest
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'d [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn skip_words(&mut self, words: u64) -> Option<()> {
        let bytes = usize::try_from(words.checked_mul(8)?).ok()?;
        self.take(bytes).map(|_| ())
    }

    /// The next bytes, lowest first.
    #[inline]
    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        let mut bytes = *first;
        if self.order == Order::Big {
            bytes.reverse();
        }
        Some(bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.number().map(u64::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.number().map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.number().map(u16::from_le_bytes)
    }

    /// A string as perf's headers hold it: a length, then so many bytes, padded with NULs.
    pub(crate) fn string(&mut self) -> Option<String> {
        let length = self.u32()? as usize;
        Some(text(self.take(length)?))
    }
}

/// Type, misc and size of the record at the front; none if it is incomplete.
pub(crate) fn record_head(data: &[u8], order: Order) -> Result<Option<(u32, u16, usize)>, String> {
    let mut bytes = Bytes::new(data, order);
    let (Some(kind), Some(misc), Some(size)) = (bytes.u32(), bytes.u16(), bytes.u16()) else {
        return Ok(None);
    };
    let size = usize::from(size);
    if size < 8 {
        return Err(format!("{size} bytes are not a record"));
    }
    Ok((data.len() >= size).then_some((kind, misc, size)))
}

/// The text before the first NUL; what is not UTF-8 becomes U+FFFD.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// A build id in hexadecimal; none if it is empty or nothing but zeros.
pub(crate) fn build_id(bytes: &[u8]) -> Option<String> {
    if bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
