"""Case number N of a seed: the same bytes each time."""

from collections.abc import Sequence
from random import Random

from fuzz.target import Target

# What mutations make longer is cut here.
MAX_SIZE = 1 << 20
_BOUNDARIES = [
    *(0, 1, 2, 3, 7, 8, 16, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000),
    *(0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF, 1 << 32, 1 << 40, 1 << 47),
    *((1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 8, (1 << 64) - 1),
]
_TEXT = [
    b"\0",
    b"\n",
    b"\x1b[2J",
    b"\xff",
    "é\u202e".encode(),
    "²٣".encode(),
    b"-1",
    b"1e308",
    b"nan",
    b"0x",
    b"%s",
]


def case(target: Target, seeds: Sequence[bytes], seed: int, number: int) -> bytes:
    """The input of a case. The first ones are the seeds themselves."""
    if number < len(seeds):
        return seeds[number]
    random = Random(f"{target.name}/{seed}/{number}")
    data = random.choice(seeds)
    for _ in range(random.choice((1, 1, 1, 2, 2, 4, 8, 32))):
        if target.mutations and random.random() < 0.5:
            data = random.choice(target.mutations)(random, data)[:MAX_SIZE]
        else:
            data = mutate(random, data, seeds, target.words)
    return data


def mutate(
    random: Random, data: bytes, others: Sequence[bytes] = (), words: Sequence[bytes] = ()
) -> bytes:
    """One change of bytes, whatever they mean."""
    changes = [_flip, _integer, _integer, _cut, _remove, _repeat, _run, _text]
    if others:
        changes.append(lambda random, data: _splice(random, data, random.choice(others)))
    if words:
        changes += [lambda random, data: _put(random, data, random.choice(words))] * 2
    return random.choice(changes)(random, data)[:MAX_SIZE]


def integer(random: Random, size: int) -> int:
    """An integer of ``size`` bytes at which readers err."""
    value = random.choice(_BOUNDARIES) + random.choice((0, 0, 0, 1, -1))
    return (random.getrandbits(64) if random.random() < 0.1 else value) % (1 << 8 * size)


def _at(random: Random, data: bytes) -> int:
    # Headers are at the start: as often there as everywhere else.
    end = min(len(data), 256) if random.random() < 0.5 else len(data)
    return random.randint(0, end)


def _flip(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 4, 16)) if data else 0):
        changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _integer(random: Random, data: bytes) -> bytes:
    size = random.choice((1, 2, 4, 4, 8, 8))
    at = _at(random, data)
    if random.random() < 0.7:
        at -= at % size
    old = data[at : at + size]
    order = random.choice(("little", "little", "big"))
    if len(old) == size and random.random() < 0.3:
        value = (int.from_bytes(old, order) + random.choice((-8, -1, 1, 8))) % (1 << 8 * size)
    else:
        value = integer(random, size)
    return data[:at] + value.to_bytes(size, order) + data[at + size :]


def _cut(random: Random, data: bytes) -> bytes:
    return data[: random.randint(0, len(data))]


def _span(random: Random, data: bytes) -> tuple[int, int]:
    start = _at(random, data)
    return start, min(len(data), start + int(2 ** random.uniform(0, 12)))


def _remove(random: Random, data: bytes) -> bytes:
    start, end = _span(random, data)
    return data[:start] + data[end:]


def _repeat(random: Random, data: bytes) -> bytes:
    start, end = _span(random, data)
    times = int(2 ** random.uniform(1, 12))
    return data[:start] + (data[start:end] * times)[: MAX_SIZE // 4] + data[end:]


def _splice(random: Random, data: bytes, other: bytes) -> bytes:
    if random.random() < 0.5:
        return data[: _at(random, data)] + other[_at(random, other) :]
    start, end = _span(random, other)
    at = _at(random, data)
    inserted = random.random() < 0.5
    return data[:at] + other[start:end] + data[at if inserted else at + end - start :]


def _run(random: Random, data: bytes) -> bytes:
    at = _at(random, data)
    byte = random.choice((b"\0", b"\xff", b"A", b"(", b";", b" ", b"\x80", b"9", data[at : at + 1]))
    return data[:at] + byte * int(2 ** random.uniform(1, 17)) + data[at:]


def _text(random: Random, data: bytes) -> bytes:
    return _put(random, data, random.choice(_TEXT))


def _put(random: Random, data: bytes, word: bytes) -> bytes:
    at = random.randint(0, len(data))
    over = len(word) if random.random() < 0.5 else 0
    return data[:at] + word + data[at + over :]
