/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uring WHAT BATCH OPS: io_uring by its system calls. An op is one request; BATCH of them are
 * submitted and completed by one call, which OPS must be a multiple of.
 */
#include "variants.h"

#include <linux/io_uring.h>
#include <poll.h>

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#endif

#define MAX_BATCH 64

static struct {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
} ring;
static long batch;
static int opcode, file, ends[2];
static char buffer[4096];

static void *map(size_t size, off_t offset)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd,
			offset);

	if (at == MAP_FAILED)
		die("mmap of a ring");
	return at;
}

static void set_up(void)
{
	struct io_uring_params params = {};
	char *sq, *cq;

	ring.fd = syscall(SYS_io_uring_setup, MAX_BATCH, &params);
	if (ring.fd < 0) {
		/* EPERM: the kernel.io_uring_disabled of this kernel says so. */
		if (errno == EPERM)
			not_there("io_uring");
		failed("io_uring");
	}
	sq = map(params.sq_off.array + params.sq_entries * sizeof(unsigned int),
		 IORING_OFF_SQ_RING);
	cq = map(params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
		 IORING_OFF_CQ_RING);
	ring.sqes = map(params.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	ring.sq_tail = (unsigned int *)(sq + params.sq_off.tail);
	ring.sq_mask = (unsigned int *)(sq + params.sq_off.ring_mask);
	ring.sq_array = (unsigned int *)(sq + params.sq_off.array);
	ring.cq_head = (unsigned int *)(cq + params.cq_off.head);
	ring.cq_tail = (unsigned int *)(cq + params.cq_off.tail);
	ring.cq_mask = (unsigned int *)(cq + params.cq_off.ring_mask);
	ring.cqes = (struct io_uring_cqe *)(cq + params.cq_off.cqes);
}

static void fill(struct io_uring_sqe *sqe)
{
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = opcode;
	if (opcode == IORING_OP_READ || opcode == IORING_OP_WRITE) {
		sqe->fd = file;
		sqe->addr = (uintptr_t)buffer;
		sqe->len = sizeof(buffer);
	} else if (opcode == IORING_OP_POLL_ADD) {
		sqe->fd = ends[1];
		sqe->poll32_events = POLLOUT;
	}
}

static void submit_and_wait(void)
{
	unsigned int tail = *ring.sq_tail, head;

	for (long i = 0; i < batch; i++, tail++) {
		unsigned int index = tail & *ring.sq_mask;

		fill(&ring.sqes[index]);
		ring.sq_array[index] = index;
	}
	__atomic_store_n(ring.sq_tail, tail, __ATOMIC_RELEASE);
	must(syscall(SYS_io_uring_enter, ring.fd, batch, batch, IORING_ENTER_GETEVENTS, NULL, 0),
	     "io_uring_enter");
	head = *ring.cq_head;
	for (; head != __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE); head++) {
		int result = ring.cqes[head & *ring.cq_mask].res;

		if (result < 0) {
			errno = -result;
			must_know(-1, "this operation of io_uring");
		}
	}
	__atomic_store_n(ring.cq_head, head, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
	static const char what[] = "nop|read|write|poll BATCH OPS";
	long ops = suite_ops(argc, argv, what);

	batch = atol(argv[2]);
	if (batch < 1 || batch > MAX_BATCH || ops % batch)
		usage(what);
	opcode = !strcmp(argv[1], "nop")    ? IORING_OP_NOP :
		 !strcmp(argv[1], "read")   ? IORING_OP_READ :
		 !strcmp(argv[1], "write")  ? IORING_OP_WRITE :
		 !strcmp(argv[1], "poll")   ? IORING_OP_POLL_ADD :
					      -1;
	if (opcode < 0)
		usage(what);
	set_up();
	enter_tmpfs("huge=never");
	file = must(open("file", O_RDWR | O_CREAT, 0600), "open");
	must(write(file, buffer, sizeof(buffer)), "write");
	must(pipe(ends), "pipe");
	for (int i = 0; i < 4; i++)
		submit_and_wait();
	wait_for_tick();
	for (int i = 0; i < 4; i++)
		submit_and_wait();
	PROFDIFF_START();
	for (long i = 0; i < ops; i += batch)
		submit_and_wait();
	PROFDIFF_STOP();
	return 0;
}
