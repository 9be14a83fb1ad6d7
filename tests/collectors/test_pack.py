"""What the guest's agent packs (pack.c), against zlib: any input, and the sizes of its blocks."""

import subprocess
import zlib
from pathlib import Path
from random import Random

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from profdiff.collectors.architecture import host
from profdiff.collectors.guest.agent import AGENT

pytestmark = pytest.mark.build

BLOCK, WINDOW = 1 << 18, 32768
NOISE = Random(0).randbytes(2 * BLOCK)


def packed(content: bytes) -> bytes:
    return subprocess.run(
        [AGENT.find(host()), "pack"], input=content, capture_output=True, check=True
    ).stdout


def unpacked(archive: bytes) -> bytes:
    """Exactly one stream of gzip, whole, with the right checksum and length."""
    stream = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    content = stream.decompress(archive) + stream.flush()
    assert stream.eof
    assert not stream.unused_data
    return content


# What is repeated, at distances and with lengths around those that the format can say.
PARTS = st.one_of(
    st.binary(max_size=40),
    st.builds(
        lambda one, count: one * count, st.binary(min_size=1, max_size=9), st.integers(1, 400)
    ),
    st.builds(lambda length: NOISE[:length] + NOISE[:20], st.integers(WINDOW - 9, WINDOW + 9)),
    st.builds(
        lambda start, length: NOISE[start:][:length], st.integers(0, 99), st.integers(0, 600)
    ),
)


@given(st.lists(PARTS, max_size=12).map(b"".join))
@settings(max_examples=examples(60), deadline=None)
def test_zlib_reads_what_is_packed(content: bytes) -> None:
    assert unpacked(packed(content)) == content


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK])
@pytest.mark.parametrize("content", [NOISE, bytes(2 * BLOCK), b"\xff\x90" * BLOCK])
def test_blocks_that_are_full(size: int, content: bytes) -> None:
    archive = packed(content[:size])
    assert unpacked(archive) == content[:size]
    # No byte takes more than nine bits, and what repeats takes next to none.
    assert len(archive) < (size * 9 // 8 if content is NOISE else size // 50) + 64


def test_what_cannot_be_sent_is_told() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [AGENT.find(host()), "pack"]
        done = subprocess.run(command, input=b"x", stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 125
    assert done.stderr.startswith(b"profdiff agent: cannot send what is packed: No space left")
