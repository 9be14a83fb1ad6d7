/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf WHAT OPS: maps and programs of BPF by bpf(2).
 */
#include "variants.h"

#include <linux/bpf.h>

static int map;
static uint32_t key = 3;
static uint64_t value = 5;

static long bpf(int command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

static void make_map(int type)
{
	union bpf_attr attributes = {
		.map_type = type,
		.key_size = sizeof(key),
		.value_size = sizeof(value),
		.max_entries = 64,
	};

	map = must(bpf(BPF_MAP_CREATE, &attributes), "bpf");
}

static void update(void)
{
	union bpf_attr attributes = {
		.map_fd = map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)&value,
	};

	must(bpf(BPF_MAP_UPDATE_ELEM, &attributes), "BPF_MAP_UPDATE_ELEM");
}

static void make_hash(void)
{
	make_map(BPF_MAP_TYPE_HASH);
	update();
}

static void make_array(void)
{
	make_map(BPF_MAP_TYPE_ARRAY);
}

static void op_lookup(void)
{
	union bpf_attr attributes = {
		.map_fd = map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)&value,
	};

	must(bpf(BPF_MAP_LOOKUP_ELEM, &attributes), "BPF_MAP_LOOKUP_ELEM");
}

static void op_create(void)
{
	make_map(BPF_MAP_TYPE_ARRAY);
	close(map);
}

static void op_load(void)
{
	/* r0 = 0; exit */
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attributes = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)code,
		.insn_cnt = 2,
		.license = (uintptr_t)"GPL",
	};

	close(must(bpf(BPF_PROG_LOAD, &attributes), "BPF_PROG_LOAD"));
}

static const struct variant variants[] = {
	{ "hash-update", make_hash, update },
	{ "hash-lookup", make_hash, op_lookup },
	{ "array-update", make_array, update },
	{ "map-create", NULL, op_create },
	{ "load", NULL, op_load },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT OPS", argc, argv);
}
