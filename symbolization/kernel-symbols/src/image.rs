use std::path::Path;

use crate::build_id::{streamed_build_id, BuildId};
use crate::compression::Compression;
use crate::file::FileBytes;
use crate::little_endian::{u16_at, u32_at};
use crate::{Error, Result};

/// What an x86 kernel image (bzImage, vmlinuz) says of itself.
///
/// Format: Documentation/arch/x86/boot.rst in the kernel tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelImage {
    /// The version string: "6.18.15-profdiff (root@host) #1 SMP …".
    pub version: String,
    /// The build id of the kernel inside; None where its compression cannot be undone or it has
    /// none.
    pub build_id: Option<BuildId>,
}

impl KernelImage {
    /// Read the image at `path`.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = FileBytes::map(path)?;
        Self::parse(&bytes).ok_or_else(|| {
            let found = match bytes.get(..4) {
                Some(b"\x7fELF") => "it is an ELF file",
                Some(b"MZ\0\0") | Some([b'M', b'Z', ..]) => {
                    "it is a PE file without a setup header"
                }
                _ => "it has no setup header",
            };
            Error::Kind {
                path: path.into(),
                expected: "an x86 kernel image",
                found: found.into(),
                advice: "give the kernel's bzImage (arch/x86/boot/bzImage) or vmlinuz",
            }
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        const SECTOR: usize = 512;
        if bytes.get(0x202..0x206)? != b"HdrS" {
            return None;
        }
        let version_at = usize::from(u16_at(bytes, 0x20e)?) + SECTOR;
        let version = bytes.get(version_at..)?;
        let version = version.get(..version.iter().take(1024).position(|byte| *byte == 0)?)?;
        // 0 stands for 4, for the sake of loaders of 1991.
        let setup_sectors = match bytes.get(0x1f1)? {
            0 => 4,
            count => usize::from(*count),
        };
        let payload = || {
            let protocol = u16_at(bytes, 0x206)?;
            if protocol < 0x0208 {
                return None; // payload_offset came with 2.08
            }
            let start =
                ((setup_sectors + 1) * SECTOR).checked_add(u32_at(bytes, 0x248)? as usize)?;
            bytes.get(start..start.checked_add(u32_at(bytes, 0x24c)? as usize)?)
        };
        let build_id = payload().and_then(|payload| {
            let mut reader = Compression::of(payload)?.reader(payload).ok()?;
            streamed_build_id(&mut reader).ok()?
        });
        Some(KernelImage {
            version: String::from_utf8_lossy(version).into_owned(),
            build_id,
        })
    }
}
