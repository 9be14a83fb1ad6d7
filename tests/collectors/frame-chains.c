/*
 * A QEMU plugin (API 4 and later, one vCPU) for tests: at each call in an arm64 kernel between
 * marks, it reads the chain of frame pointers in the guest, which profdiff's own plugin never does.
 *
 * Arguments: out=FILE, vectors=ADDRESS. For each call FILE gets 64-bit words: how many follow, the
 * address of the function, and where it and its callers return to (0: unknown), innermost first.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* include/qemu/qemu-plugin.h */
typedef uint64_t id_t_;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_register;
typedef struct { uint8_t *data; unsigned len; } GByteArray;
typedef struct { char *data; unsigned len; } GArray;
typedef struct { struct qemu_plugin_register *handle; const char *name, *feature; } descriptor;
enum { NO_REGISTERS, READS_REGISTERS };
void qemu_plugin_register_vcpu_init_cb(id_t_, void (*)(id_t_, unsigned));
void qemu_plugin_register_vcpu_tb_trans_cb(id_t_, void (*)(id_t_, struct qemu_plugin_tb *));
void qemu_plugin_register_atexit_cb(id_t_, void (*)(id_t_, void *), void *);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int,
                                          void *);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *),
                                            int, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *, void *, size_t);
GArray *qemu_plugin_get_registers(void);
int qemu_plugin_read_register(struct qemu_plugin_register *, GByteArray *);
bool qemu_plugin_read_memory_vaddr(uint64_t, GByteArray *, size_t);
/* GLib */
GByteArray *g_byte_array_new(void);
GByteArray *g_byte_array_set_size(GByteArray *, unsigned);

int qemu_plugin_version = 4;

enum { DEEPEST = 126 };
static const uint64_t KERNEL = 0xffffull << 48;
static struct qemu_plugin_register *fp_register, *lr_register;
static GByteArray *bytes;
static FILE *out;
static uint64_t vectors;
static bool counting, called;

static uint64_t word(void)
{
    uint64_t value = 0;
    if (bytes->len >= sizeof value)
        memcpy(&value, bytes->data, sizeof value);
    return value;
}

static uint64_t of_register(struct qemu_plugin_register *handle)
{
    g_byte_array_set_size(bytes, 0);
    qemu_plugin_read_register(handle, bytes);
    return word();
}

static bool load(uint64_t address, uint64_t *value)
{
    g_byte_array_set_size(bytes, 0);
    if (!qemu_plugin_read_memory_vaddr(address, bytes, sizeof *value))
        return false;
    *value = word();
    return true;
}

/* Without the bits that sign it. */
static uint64_t code_address(uint64_t address) { return address ? address | KERNEL : 0; }

static void block_begins(unsigned vcpu, void *start)
{
    (void)vcpu;
    uint64_t chain[2 + DEEPEST], fp, next, address, length = 0;

    if (!called)
        return;
    called = false;
    /* Not an interrupt between a call and what it calls. */
    if (!counting || (uint64_t)start < KERNEL || (uint64_t)start - vectors < 0x800)
        return;
    chain[++length] = (uint64_t)start;
    chain[++length] = code_address(of_register(lr_register));
    fp = of_register(fp_register);
    while (length < DEEPEST && fp >= KERNEL && load(fp, &next) && load(fp + 8, &address)) {
        chain[++length] = code_address(address);
        fp = next;
    }
    chain[0] = length;
    fwrite(chain, sizeof *chain, 1 + length, out);
}

static void call_executes(unsigned vcpu, void *unused)
{
    (void)vcpu, (void)unused;
    called = true;
}

static void mark_executes(unsigned vcpu, void *starts)
{
    (void)vcpu;
    counting = starts != NULL;
}

static void translates(id_t_ id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint32_t code = 0;
        qemu_plugin_insn_data(insn, &code, sizeof code);
        /* BL; BLR, BLRAA and the like */
        if (code >> 26 == 0x25 || (code & 0xfefff000) == 0xd63f0000)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, call_executes, NO_REGISTERS, NULL);
        if (code == 0xd2e9203f || code == 0xd2e9205f)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, mark_executes, NO_REGISTERS,
                                                   code == 0xd2e9203f ? (void *)1 : NULL);
    }
    qemu_plugin_register_vcpu_tb_exec_cb(tb, block_begins, READS_REGISTERS,
                                         (void *)qemu_plugin_tb_vaddr(tb));
}

static void vcpu_begins(id_t_ id, unsigned vcpu)
{
    (void)id, (void)vcpu;
    GArray *all = qemu_plugin_get_registers();
    const descriptor *one = (const descriptor *)all->data;
    for (unsigned i = 0; i < all->len; i++, one++) {
        if (!strcmp(one->name, "x29"))
            fp_register = one->handle;
        if (!strcmp(one->name, "x30"))
            lr_register = one->handle;
    }
    bytes = g_byte_array_new();
}

static void ends(id_t_ id, void *unused)
{
    (void)id, (void)unused;
    fclose(out);
}

int qemu_plugin_install(id_t_ id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "out=", 4))
            out = fopen(argv[i] + 4, "wb");
        if (!strncmp(argv[i], "vectors=", 8))
            vectors = strtoull(argv[i] + 8, NULL, 0);
    }
    if (!out || !vectors)
        return -1;
    qemu_plugin_register_vcpu_init_cb(id, vcpu_begins);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translates);
    qemu_plugin_register_atexit_cb(id, ends, NULL);
    return 0;
}
