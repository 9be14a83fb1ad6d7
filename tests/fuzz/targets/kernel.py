"""What describes a kernel: kallsyms, its image, its config, a package that holds it."""

import gzip
import io
import lzma
import os
import struct
import subprocess
import tarfile
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
from support import SHARED, need_program

from fuzz.mutation import mutate
from fuzz.structured import gunzip, gzipped, in_gzip, in_lines, within
from fuzz.target import Target
from fuzz.targets.guest import in_tar
from profdiff.base.errors import ProfdiffError
from profdiff.collectors.kernels.deb_package import KERNEL_FILES, unpack_into
from profdiff.session import kernel_config
from profdiff.symbolization._native import Kallsyms, KernelImage, NativeError

_KALLSYMS = b"".join(
    b"%x %c function_%d%s\n"
    % (0xFFFF_FFFF_8100_0000 + 64 * n, b"TtDdWwA"[n % 7], n, b"\t[mod]" if n > 150 else b"")
    for n in range(200)
)
_ABSENT = b"0000000000000000 T _text\n0000000000000000 A fixed_percpu_data\n"


def _read_kallsyms(data: bytes, folder: Path) -> None:
    known = Kallsyms(data)
    known.address("function_1")
    addresses = np.array([0, 0xFFFF_FFFF_8100_0010, 2**64 - 1], np.uint64)
    assert max(known.owners(addresses).tolist()) < len(known.modules())
    assert len(known.resolve(addresses).reason) == 3
    len(known)


def _image(payload: bytes) -> bytes:
    """A bzImage as the boot protocol describes it (Documentation/arch/x86/boot.rst)."""
    head = bytearray(1024)
    head[0x1F1] = 1  # setup_sects
    head[0x1FE:0x200] = b"\x55\xaa"
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", head, 0x206, 0x20F)
    struct.pack_into("<H", head, 0x20E, 0x280 - 0x200)
    head[0x280:0x2A0] = b"6.18.15 (a@b) #1 SMP".ljust(32, b"\0")
    struct.pack_into("<II", head, 0x248, 0, len(payload))
    return bytes(head) + payload


def _elf_with_notes() -> bytes:
    need_program("gcc")
    command = [
        "gcc",
        "-nostdlib",
        "-static",
        "-Wl,--build-id",
        "-Wl,-e0",
        "-x",
        "c",
        "-",
        "-o",
        "elf",
    ]
    subprocess.run(command, input=b"int f(void) { return 1; }", check=True)
    return Path("elf").read_bytes()


def _image_seeds() -> list[bytes]:
    elf = _elf_with_notes()
    length = struct.pack("<I", len(elf))
    made = [_image(gzip.compress(elf, mtime=0) + length), _image(lzma.compress(elf) + length)]
    made.append(_image(lzma.compress(elf, lzma.FORMAT_ALONE) + length))
    return made


def _payload(random: Random, data: bytes) -> bytes:
    """What is packed behind the image's head."""
    head, rest = data[:1024], data[1024:]
    changed = within(
        lambda packed: gunzip(packed[:-4]),
        lambda plain: gzip.compress(plain, 1, mtime=0) + struct.pack("<I", len(plain)),
    )(random, rest)
    return head + changed


def _read_image(data: bytes, folder: Path) -> None:
    (folder / "bzImage").write_bytes(data)
    image = KernelImage.open(str(folder / "bzImage"))
    assert isinstance(image.version, str)
    assert image.build_id is None or len(image.build_id) % 2 == 0


_CONFIG = b"""\
# Linux/x86 6.18.15 Kernel Configuration
CONFIG_SMP=y
CONFIG_HZ=250
# CONFIG_KASAN is not set
CONFIG_DEFAULT_HOSTNAME="(none)"
CONFIG_E1000=m
"""


def _read_config(data: bytes, folder: Path) -> None:
    both = kernel_config.ConfigDifferences()
    both.add("a", kernel_config.parse(_CONFIG))
    both.add("b", kernel_config.parse(kernel_config.unpacked(data)))
    for one in both.result():
        assert set(one.values) == {"a", "b"}


def _config_seeds() -> list[bytes]:
    real = sorted((SHARED / "kernels").glob("*/config"))[:1]
    return [_CONFIG, gzip.compress(_CONFIG, mtime=0), *(file.read_bytes() for file in real)]


_packed_tar = gzipped(in_tar)
_AR = b"!<arch>\n"


def _ar(members: dict[str, bytes]) -> bytes:
    out = _AR
    for name, content in members.items():
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return out


def _members(data: bytes) -> dict[str, bytes]:
    found, at = {}, len(_AR)
    while at + 60 <= len(data):
        size = int(data[at + 48 : at + 58] or b"0")
        found[data[at : at + 16].decode(errors="replace").strip()] = data[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    return found


@cache
def _deb_seeds() -> list[bytes]:
    """By dpkg-deb, and with archives that are packed otherwise."""
    need_program("dpkg-deb", "dpkg")
    root = Path("root")
    for name in ("boot/vmlinuz-1", "boot/config-1", "usr/lib/debug/boot/vmlinux-1", "usr/share/x"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "lib/modules/1").mkdir(parents=True)
    (root / "lib/modules/1/a.ko").write_text("module")
    (root / "boot/vmlinuz").symlink_to("vmlinuz-1")
    (root / "DEBIAN").mkdir()
    control = "Package: a\nVersion: 1\nArchitecture: amd64\nMaintainer: t <t@example.org>\n"
    (root / "DEBIAN/control").write_text(control + "Description: t\n")
    command = ["dpkg-deb", "--root-owner-group", "-b", "root", "a.deb"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1790000000"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    made = Path("a.deb").read_bytes()
    members = _members(made)
    data = next(name for name in members if name.startswith("data.tar"))
    plain = lzma.decompress(members[data]) if data.endswith("xz") else _plain_tar()
    kept = {name: content for name, content in members.items() if name != data}
    packed = _ar({**kept, "data.tar.gz": gzip.compress(plain, mtime=0)})
    return [made, packed, _ar({**kept, "data.tar": plain})]


def _plain_tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add("root/boot", "./boot")
    return buffer.getvalue()


def _in_deb(random: Random, data: bytes) -> bytes:
    """What a member holds; mostly headers in the archive of the files."""
    try:
        members = _members(data)
    except ValueError:
        return mutate(random, data)
    if "data.tar" in members and random.random() < 0.8:
        members["data.tar"] = in_tar(random, members["data.tar"])
    elif "data.tar.gz" in members and random.random() < 0.8:
        members["data.tar.gz"] = _packed_tar(random, members["data.tar.gz"])
    elif members:
        name = random.choice(list(members))
        members[name] = mutate(random, members[name])
    return _ar({name[:16]: content for name, content in members.items()})


def _read_deb(data: bytes, folder: Path) -> None:
    deb = folder / "a.deb"
    deb.write_bytes(data)
    cache_of_kernels = folder / "cache"
    try:
        target = unpack_into(cache_of_kernels / "kernel", [deb], KERNEL_FILES)
    except ProfdiffError:
        # Whole or not at all.
        assert {path.name for path in cache_of_kernels.iterdir()} <= {".kernel.lock"}
        raise
    finally:
        assert {path.name for path in folder.iterdir()} <= {"a.deb", "cache"}
    for path in target.rglob("*"):
        assert path.resolve().is_relative_to(target.resolve()), path


TARGETS = (
    Target(
        "kallsyms",
        lambda: [_KALLSYMS, _ABSENT, _KALLSYMS[:64]],
        _read_kallsyms,
        cases=3000,
        mutations=[in_lines],
        words=[b"\t[", b"]\n", b"ffffffffffffffff T ", b" _text\n", b" _stext\n", b"[bpf]"],
    ),
    Target(
        "kernel-image",
        _image_seeds,
        _read_image,
        cases=1500,
        refusals=(NativeError,),
        mutations=[_payload],
        words=[
            b"HdrS",
            b"\x1f\x8b\x08",
            b"\xfd7zXZ\0",
            b"BZh",
            b"\x5d\0\0",
            b"\x02!L\x18",
            b"(\xb5/\xfd",
        ],
    ),
    Target(
        "kernel-config",
        _config_seeds,
        _read_config,
        cases=500,
        refusals=(ValueError,),
        mutations=[in_lines, in_gzip],
        words=[b"CONFIG_", b" is not set", b"=y\n", b"# "],
    ),
    Target("deb", _deb_seeds, _read_deb, cases=120, mutations=[_in_deb, _in_deb, _in_deb]),
)
