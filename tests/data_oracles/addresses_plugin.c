/* Logs which addresses the kernel's instructions access, between the marks of profdiff.h. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t id_t_;
struct tb;
struct insn;
extern size_t qemu_plugin_tb_n_insns(const struct tb *);
extern struct insn *qemu_plugin_tb_get_insn(const struct tb *, size_t);
extern uint64_t qemu_plugin_insn_vaddr(const struct insn *);
extern size_t qemu_plugin_insn_size(const struct insn *);
/* Of older versions, and of API 3 on. */
extern const void *qemu_plugin_insn_data(const struct insn *, void *, size_t);
extern unsigned qemu_plugin_mem_size_shift(uint32_t);
extern _Bool qemu_plugin_mem_is_store(uint32_t);
extern void qemu_plugin_register_vcpu_tb_trans_cb(id_t_, void (*)(id_t_, struct tb *));
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct tb *, void (*)(unsigned, void *), int,
						 void *);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *, void (*)(unsigned, void *), int,
						   void *);
extern void qemu_plugin_register_vcpu_mem_cb(struct insn *,
					     void (*)(unsigned, uint32_t, uint64_t, void *), int,
					     int, void *);
extern void qemu_plugin_register_atexit_cb(id_t_, void (*)(id_t_, void *), void *);

__attribute__((visibility("default"))) int qemu_plugin_version = PLUGIN_API;

/* Of each instruction so many accesses are logged, and all stores to the map of pages, which say
 * when memory becomes another's; there are so many instructions. */
enum { MOST = 96, SLOTS = 1 << 20, NO_REGISTERS = 0, LOADS_AND_STORES = 3, PAGES = 0xffffea };
struct code {
	uint64_t pc;
	uint8_t length, bytes[15];
	uint32_t logged, executed;
};
/* Instructions that run one after the other. */
struct block {
	size_t count;
	int executed;
	struct code *codes[];
};
struct access {
	uint64_t pc, address;
	uint32_t size, store;
};
static struct code *every;
static FILE *log_, *code_;
static int on;

static struct code *slot(uint64_t pc)
{
	uint64_t at = (pc * 0x9E3779B97F4A7C15ull) >> 44;
	while (every[at].pc && every[at].pc != pc)
		at = (at + 1) % SLOTS;
	every[at].pc = pc;
	return &every[at];
}

static void accessed(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
	struct code *code = data;
	struct access access = { code->pc, address, 1u << qemu_plugin_mem_size_shift(info),
				 qemu_plugin_mem_is_store(info) };
	_Bool to_page = access.store && address >> 40 == PAGES;
	if (on && (code->logged++ < MOST || to_page))
		fwrite(&access, sizeof access, 1, log_);
}

static void entered(unsigned cpu, void *data)
{
	struct block *block = data;
	for (size_t at = 0; on && !block->executed && at < block->count; at++)
		if (block->codes[at])
			block->codes[at]->executed = 1;
	block->executed |= on;
}

static void start(unsigned cpu, void *data) { on = 1; }
static void stop(unsigned cpu, void *data) { on = 0; }

static void translated(id_t_ id, struct tb *tb)
{
	static const uint8_t mark[] = { 0x0f, 0x1f, 0x80 };
	size_t count = qemu_plugin_tb_n_insns(tb);
	struct block *block = calloc(1, sizeof *block + count * sizeof *block->codes);
	block->count = count;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, entered, NO_REGISTERS, block);
	for (size_t number = 0; number < count; number++) {
		struct insn *insn = qemu_plugin_tb_get_insn(tb, number);
		uint64_t pc = qemu_plugin_insn_vaddr(insn);
		size_t length = qemu_plugin_insn_size(insn);
		uint8_t bytes[16] = { 0 };
		const void *own = qemu_plugin_insn_data(insn, bytes, sizeof bytes);
		if (PLUGIN_API < 3)
			memcpy(bytes, own, length < 15 ? length : 15);
		if (pc >> 63) {
			struct code *code = slot(pc);
			block->codes[number] = code;
			code->length = length;
			memcpy(code->bytes, bytes, sizeof code->bytes);
			qemu_plugin_register_vcpu_mem_cb(insn, accessed, NO_REGISTERS,
							 LOADS_AND_STORES, code);
		} else if (length == 7 && !memcmp(bytes, mark, 3) && !memcmp(bytes + 4, "IDP", 3)) {
			qemu_plugin_register_vcpu_insn_exec_cb(insn, bytes[3] == 1 ? start : stop,
							       NO_REGISTERS, NULL);
		}
	}
}

static void done(id_t_ id, void *data)
{
	for (size_t at = 0; at < SLOTS; at++)
		if (every[at].executed)
			fwrite(&every[at], sizeof every[at], 1, code_);
	fclose(log_);
	fclose(code_);
}

__attribute__((visibility("default"))) int qemu_plugin_install(id_t_ id, const void *info, int argc,
							       char **argv)
{
	every = calloc(SLOTS, sizeof *every);
	log_ = fopen(LOG, "wb");
	code_ = fopen(CODE, "wb");
	if (!every || !log_ || !code_)
		return 1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, done, NULL);
	return 0;
}
