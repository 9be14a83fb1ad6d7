/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pingpong OVER OPS: two processes wait for each other in turn. An op is one round trip: there and
 * back, two wake-ups. Both are on CPU 0, whatever there is.
 */
#include "variants.h"
#include "loopback.h"

#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/tcp.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

/* Of each of both sides: what it reads from, and what it writes to. */
static int from[2], to[2];
static char byte[8] = { 1 };
static size_t length = 1;

/* What both see. */
static struct {
	uint32_t futex[2];
	sem_t semaphores[2];
} *shared;

static int semaphores, queue;
static mqd_t queues[2];

/* Waits for what the other side, or tells it. `side` is 0 for the parent. */
static void (*wait_for)(int side);
static void (*tell)(int side);

static void by_fd_wait(int side)
{
	if (must(read(from[side], byte, sizeof(byte)), "read") != (long)length)
		die("a short read");
}

static void by_fd_tell(int side)
{
	if (must(write(to[side], byte, length), "write") != (long)length)
		die("a short write");
}

static void futex_wait(int side)
{
	uint32_t *own = &shared->futex[side];

	while (!__atomic_load_n(own, __ATOMIC_ACQUIRE))
		if (syscall(SYS_futex, own, FUTEX_WAIT, 0, NULL) && errno != EAGAIN)
			die("FUTEX_WAIT");
	*own = 0;
}

static void futex_tell(int side)
{
	__atomic_store_n(&shared->futex[!side], 1, __ATOMIC_RELEASE);
	must(syscall(SYS_futex, &shared->futex[!side], FUTEX_WAKE, 1), "FUTEX_WAKE");
}

static void sem_wait_for(int side)
{
	must(sem_wait(&shared->semaphores[side]), "sem_wait");
}

static void sem_tell(int side)
{
	must(sem_post(&shared->semaphores[!side]), "sem_post");
}

static void sysv_wait(int side)
{
	struct sembuf operation = { .sem_num = side, .sem_op = -1 };

	must(semop(semaphores, &operation, 1), "semop");
}

static void sysv_tell(int side)
{
	struct sembuf operation = { .sem_num = !side, .sem_op = 1 };

	must(semop(semaphores, &operation, 1), "semop");
}

static void msg_wait(int side)
{
	struct {
		long type;
		char byte[8];
	} message;

	must(msgrcv(queue, &message, sizeof(message.byte), 1 + side, 0), "msgrcv");
}

static void msg_tell(int side)
{
	struct {
		long type;
		char byte[8];
	} message = { .type = 1 + !side };

	must(msgsnd(queue, &message, sizeof(message.byte), 0), "msgsnd");
}

static void mq_wait(int side)
{
	must(mq_receive(queues[side], byte, sizeof(byte), NULL), "mq_receive");
}

static void mq_tell(int side)
{
	must(mq_send(queues[!side], byte, 1, 0), "mq_send");
}

static void use(void (*wait)(int), void (*say)(int))
{
	wait_for = wait;
	tell = say;
}

static void over_pipe(void)
{
	int there[2], back[2];

	must(pipe(there), "pipe");
	must(pipe(back), "pipe");
	from[1] = there[0];
	to[0] = there[1];
	from[0] = back[0];
	to[1] = back[1];
	use(by_fd_wait, by_fd_tell);
}

static void over_pair(int type)
{
	int pair[2];

	must(socketpair(AF_UNIX, type, 0, pair), "Unix sockets");
	from[0] = to[0] = pair[0];
	from[1] = to[1] = pair[1];
	use(by_fd_wait, by_fd_tell);
}

static void over_unix_stream(void)
{
	over_pair(SOCK_STREAM);
}

static void over_unix_dgram(void)
{
	over_pair(SOCK_DGRAM);
}

static void over_unix_seqpacket(void)
{
	over_pair(SOCK_SEQPACKET);
}

static void over_eventfd(void)
{
	from[0] = to[1] = must(eventfd(0, 0), "eventfd");
	from[1] = to[0] = must(eventfd(0, 0), "eventfd");
	length = 8;
	use(by_fd_wait, by_fd_tell);
}

static void over_udp(void)
{
	struct sockaddr_in addresses[2];

	loopback_up();
	for (int side = 0; side < 2; side++) {
		from[side] = to[side] = must(socket(AF_INET, SOCK_DGRAM, 0), "UDP sockets");
		addresses[side] = bound(from[side]);
	}
	for (int side = 0; side < 2; side++)
		must(connect(from[side], (struct sockaddr *)&addresses[!side],
			     sizeof(addresses[!side])), "connect");
	use(by_fd_wait, by_fd_tell);
}

static void over_tcp(void)
{
	int one = 1, listener;
	struct sockaddr_in address;

	loopback_up();
	listener = must(socket(AF_INET, SOCK_STREAM, 0), "TCP sockets");
	address = bound(listener);
	must(listen(listener, 1), "listen");
	from[0] = to[0] = must(socket(AF_INET, SOCK_STREAM, 0), "TCP sockets");
	must(connect(from[0], (struct sockaddr *)&address, sizeof(address)), "connect");
	from[1] = to[1] = must(accept(listener, NULL, NULL), "accept");
	for (int side = 0; side < 2; side++)
		must(setsockopt(from[side], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)),
		     "TCP_NODELAY");
	use(by_fd_wait, by_fd_tell);
}

static void over_futex(void)
{
	use(futex_wait, futex_tell);
}

static void over_sem(void)
{
	for (int i = 0; i < 2; i++)
		must(sem_init(&shared->semaphores[i], 1, 0), "sem_init");
	use(sem_wait_for, sem_tell);
}

static void over_sysv_sem(void)
{
	semaphores = must(semget(IPC_PRIVATE, 2, IPC_CREAT | 0600), "System V semaphores");
	use(sysv_wait, sysv_tell);
}

static void over_sysv_msg(void)
{
	queue = must(msgget(IPC_PRIVATE, IPC_CREAT | 0600), "System V messages");
	use(msg_wait, msg_tell);
}

static void over_mq(void)
{
	struct mq_attr attributes = { .mq_maxmsg = 2, .mq_msgsize = sizeof(byte) };

	for (int i = 0; i < 2; i++) {
		const char *name = i ? "/suite-1" : "/suite-0";

		queues[i] = must(mq_open(name, O_RDWR | O_CREAT, 0600, &attributes),
				 "POSIX message queues");
		mq_unlink(name);
	}
	use(mq_wait, mq_tell);
}

static void start_other_side(void (*prepare)(void))
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	must(sched_setaffinity(0, sizeof(first), &first), "sched_setaffinity");
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	prepare();
	if (must(fork(), "fork"))
		return;
	must(prctl(PR_SET_PDEATHSIG, SIGKILL), "PR_SET_PDEATHSIG");
	for (;;) {
		wait_for(1);
		tell(1);
	}
}

static void op_round(void)
{
	tell(0);
	wait_for(0);
}

#define OVER(name)							\
	static void prepare_##name(void)				\
	{								\
		start_other_side(over_##name);				\
	}
OVER(pipe)
OVER(unix_stream)
OVER(unix_dgram)
OVER(unix_seqpacket)
OVER(eventfd)
OVER(udp)
OVER(tcp)
OVER(futex)
OVER(sem)
OVER(sysv_sem)
OVER(sysv_msg)
OVER(mq)

static const struct variant variants[] = {
	{ "pipe", prepare_pipe, op_round },
	{ "unix-stream", prepare_unix_stream, op_round },
	{ "unix-dgram", prepare_unix_dgram, op_round },
	{ "unix-seqpacket", prepare_unix_seqpacket, op_round },
	{ "eventfd", prepare_eventfd, op_round },
	{ "udp", prepare_udp, op_round },
	{ "tcp", prepare_tcp, op_round },
	{ "futex", prepare_futex, op_round },
	{ "sem", prepare_sem, op_round },
	{ "sysv-sem", prepare_sysv_sem, op_round },
	{ "sysv-msg", prepare_sysv_msg, op_round },
	{ "mq", prepare_mq, op_round },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "OVER OPS", argc, argv);
}
