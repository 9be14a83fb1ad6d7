//! The text on the guest's serial console that ends the window of a boot.
//!
//! QEMU writes each byte that the guest sends to the console's file at once, so that the file tells
//! what the guest has sent, whether or not this QEMU lets plugins read registers.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The file's name, beside the plugin's result.
const FILE: &str = "console.log";

/// A text that is waited for.
#[derive(Debug)]
pub struct Awaited {
    text: Vec<u8>,
    path: PathBuf,
    file: Option<File>,
    /// How much of the file was read.
    read: u64,
    /// Its last bytes, fewer than the text has.
    end: Vec<u8>,
}

impl Awaited {
    /// `text`, on the console of a guest whose result will be in `out`.
    pub fn new(text: Vec<u8>, out: &std::path::Path) -> Awaited {
        Awaited {
            text,
            path: out.with_file_name(FILE),
            file: None,
            read: 0,
            end: Vec::new(),
        }
    }

    /// Begin to wait: what the console already shows does not count.
    pub fn begin(&mut self) {
        self.file = File::open(&self.path).ok();
        let length = |file: &File| file.metadata().map_or(0, |known| known.len());
        self.read = self.file.as_ref().map_or(0, length);
        self.end.clear();
    }

    /// Whether the text came since the last call, or since [`Awaited::begin`].
    pub fn came(&mut self) -> bool {
        let Some(file) = &self.file else {
            return false;
        };
        let mut bytes = [0; 512];
        while let Ok(count @ 1..) = file.read_at(&mut bytes, self.read) {
            self.read += count as u64;
            self.end.extend_from_slice(&bytes[..count]);
            if self
                .end
                .windows(self.text.len())
                .any(|one| one == self.text)
            {
                self.end.clear();
                return true;
            }
            let kept = self.text.len() - 1;
            self.end.drain(..self.end.len().saturating_sub(kept));
        }
        false
    }
}

/// The bytes that pairs of hexadecimal digits name; None for anything else, and for nothing.
pub fn bytes_of(digits: &[u8]) -> Option<Vec<u8>> {
    let pair = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok();
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    let whole = is_hex && !digits.is_empty() && digits.len() % 2 == 0;
    whole.then(|| digits.chunks(2).map(pair).collect())?
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_text_comes_in_parts() {
        let out = std::env::temp_dir().join(format!("console-{}", std::process::id()));
        std::fs::create_dir_all(&out).unwrap();
        let mut file = File::create(out.join(FILE)).unwrap();
        let mut awaited = Awaited::new(b"ready".to_vec(), &out.join("counts.bin"));
        assert!(!awaited.came());
        file.write_all(b"ready").unwrap();
        awaited.begin();
        for (bytes, came) in [
            (&b"\nrea"[..], false),
            (b"", false),
            (b"dready", true),
            (b"dy", false),
            (&[b'.'; 2000], false),
            (b"is ready\r\n", true),
        ] {
            file.write_all(bytes).unwrap();
            assert_eq!(awaited.came(), came, "{bytes:?}");
        }
        std::fs::remove_dir_all(out).unwrap();
    }

    #[test]
    fn texts_are_digits() {
        assert_eq!(bytes_of(b"4f6bc3"), Some(vec![0x4f, 0x6b, 0xc3]));
        for digits in [&b""[..], b"4", b"4f6", b"zz", b"+4"] {
            assert_eq!(bytes_of(digits), None);
        }
    }
}
