/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packs standard input as gzip does (RFC 1951, RFC 1952), for a tenth of the instructions: an
 * emulated guest pays for each, and for each byte that it sends.
 *
 * Repetitions are found where a hash of four bytes saw them last, and written in the format's fixed
 * codes.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pack.h"

/* Bytes of a block: of input; and of what it is packed, as none takes more than 9 bits. */
#define CHUNK (1 << 18)
#define ROOM (CHUNK / 8 * 9 + 64)
#define HASH_BITS 13
#define LEAST 4
#define MOST 258
#define WINDOW 32768
#define END 256

struct code {
	uint32_t bits, count;
};

static struct code literals[288], lengths[MOST + 1], distances[30];
static uint32_t crcs[4][256];
static unsigned char in[CHUNK], out[ROOM];
static size_t filled;
static uint64_t held;
static unsigned held_bits;

/* As all architectures that guests have, the format has the lowest byte first. */
static uint32_t load(const unsigned char *at)
{
	uint32_t word;
	memcpy(&word, at, sizeof(word));
	return word;
}

static void put(uint32_t bits, unsigned count)
{
	held |= (uint64_t)bits << held_bits;
	held_bits += count;
	if (held_bits < 32)
		return;
	uint32_t whole = held;
	memcpy(out + filled, &whole, sizeof(whole));
	filled += sizeof(whole);
	held >>= 32;
	held_bits -= 32;
}

static void put_code(struct code code)
{
	put(code.bits, code.count);
}

/* Huffman codes are written from their highest bit. */
static struct code huffman(unsigned bits, unsigned count)
{
	struct code code = { 0, count };
	for (unsigned i = 0; i < count; i++)
		code.bits |= (bits >> i & 1) << (count - 1 - i);
	return code;
}

static struct code literal(unsigned symbol)
{
	if (symbol < 144)
		return huffman(0x30 + symbol, 8);
	if (symbol < 256)
		return huffman(0x190 + symbol - 144, 9);
	if (symbol < 280)
		return huffman(symbol - 256, 7);
	return huffman(0xc0 + symbol - 280, 8);
}

/* The highest bit of a number that is not 0. */
static unsigned top(unsigned number)
{
	return 31 - __builtin_clz(number);
}

static void make_tables(void)
{
	for (unsigned i = 0; i < 288; i++)
		literals[i] = literal(i);
	for (unsigned i = 0; i < 30; i++)
		distances[i] = huffman(i, 5);
	/* Four codes, or those of distances two, share a number of extra bits. */
	for (unsigned length = LEAST; length <= MOST; length++) {
		unsigned from = length - 3, extra = from < 8 ? 0 : top(from) - 2;
		unsigned symbol = 257 + 4 * extra + (from >> extra);
		struct code code = literals[symbol];
		code.bits |= (from & ((1u << extra) - 1)) << code.count;
		code.count += extra;
		lengths[length] = length == MOST ? literals[285] : code;
	}
	for (unsigned i = 0; i < 256; i++) {
		crcs[0][i] = i;
		for (int bit = 0; bit < 8; bit++)
			crcs[0][i] = crcs[0][i] >> 1 ^ (crcs[0][i] & 1 ? 0xedb88320 : 0);
	}
	for (unsigned table = 1; table < 4; table++)
		for (unsigned i = 0; i < 256; i++) {
			uint32_t before = crcs[table - 1][i];
			crcs[table][i] = crcs[0][before & 255] ^ before >> 8;
		}
}

static uint32_t checksum(uint32_t crc, const unsigned char *at, size_t length)
{
	const unsigned char *end = at + length;
	for (; end - at >= 4; at += 4) {
		crc ^= load(at);
		crc = crcs[3][crc & 255] ^ crcs[2][crc >> 8 & 255] ^ crcs[1][crc >> 16 & 255] ^
		      crcs[0][crc >> 24];
	}
	for (; at < end; at++)
		crc = crcs[0][(crc ^ *at) & 255] ^ crc >> 8;
	return crc;
}

static void put_repetition(unsigned length, unsigned distance)
{
	unsigned from = distance - 1, extra = from < 4 ? 0 : top(from) - 1;
	put_code(lengths[length]);
	put_code(distances[2 * extra + (from >> extra)]);
	put(from & ((1u << extra) - 1), extra);
}

static void put_block(size_t length)
{
	/* Where four bytes of that hash were last, plus one. */
	static uint32_t last[1 << HASH_BITS];
	memset(last, 0, sizeof(last));
	/* Not the last block, fixed codes. */
	put(0 | 1 << 1, 3);
	size_t at = 0;
	while (at + LEAST <= length) {
		uint32_t word = load(in + at);
		uint32_t *slot = &last[word * 2654435761u >> (32 - HASH_BITS)];
		size_t before = *slot;
		*slot = at + 1;
		if (!before || at + 1 - before > WINDOW || load(in + before - 1) != word) {
			put_code(literals[in[at++]]);
			continue;
		}
		size_t distance = at + 1 - before, same = LEAST;
		while (same < MOST && at + same < length &&
		       in[at + same] == in[at + same - distance])
			same++;
		put_repetition(same, distance);
		at += same;
	}
	while (at < length)
		put_code(literals[in[at++]]);
	put_code(literals[END]);
}

static int flush(void)
{
	for (size_t done = 0; done < filled;) {
		ssize_t n = write(STDOUT_FILENO, out + done, filled - done);
		if (n <= 0)
			return 0;
		done += n;
	}
	filled = 0;
	return 1;
}

static size_t fill(void)
{
	size_t length = 0;
	ssize_t n;
	while (length < CHUNK && (n = read(STDIN_FILENO, in + length, CHUNK - length)) > 0)
		length += n;
	return length;
}

int pack(void)
{
	static const unsigned char header[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255 };
	uint32_t crc = 0xffffffff, total = 0;
	size_t length;
	make_tables();
	for (size_t i = 0; i < sizeof(header); i++)
		put(header[i], 8);
	while ((length = fill())) {
		crc = checksum(crc, in, length);
		total += length;
		put_block(length);
		if (!flush())
			break;
	}
	/* A last block with nothing in it, and up to the next whole byte. */
	put(1 | 1 << 1, 3);
	put_code(literals[END]);
	put(0, -held_bits & 7);
	put(~crc, 32);
	put(total, 32);
	for (; held_bits; held_bits -= 8, held >>= 8)
		out[filled++] = held;
	if (!length && flush())
		return 0;
	fprintf(stderr, "profdiff agent: cannot send what is packed: %s\n", strerror(errno));
	return 125;
}
