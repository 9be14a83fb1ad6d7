/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared-ipc VARIANT one|own threads|processes OPS: two use a pipe, a socket, or another thing that
 * is there to be shared; or one each.
 *
 * In `-flow` variants, one puts in what the other takes out. Nobody waits: some of it is there
 * before.
 */
#include "shared.h"
#include "loopback.h"

#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

/* Of two objects, the ends to read from and to write to. */
static int from[2], to[2];
static struct {
	uint32_t word;
	char more[APART - sizeof(uint32_t)];
} *futexes;
static const struct timespec hour = { 3600, 0 };

static void make_pipes(void)
{
	for (int i = 0; i < 2; i++) {
		int ends[2];

		must(pipe2(ends, O_NONBLOCK), "pipe");
		from[i] = ends[0];
		to[i] = ends[1];
	}
}

static void make_pairs(int type)
{
	for (int i = 0; i < 2; i++) {
		int ends[2];

		must(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, ends), "Unix sockets");
		from[i] = ends[0];
		to[i] = ends[1];
	}
}

static void make_stream_pairs(void)
{
	make_pairs(SOCK_STREAM);
}

static void make_dgram_pairs(void)
{
	make_pairs(SOCK_DGRAM);
}

static void make_udp(void)
{
	loopback_up();
	for (int i = 0; i < 2; i++) {
		struct sockaddr_in address;

		from[i] = must(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), "UDP sockets");
		to[i] = must(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), "UDP sockets");
		address = bound(from[i]);
		must(connect(to[i], (struct sockaddr *)&address, sizeof(address)), "connect");
	}
}

static void make_tcp(void)
{
	loopback_up();
	for (int i = 0; i < 2; i++) {
		int one = 1, listener = must(socket(AF_INET, SOCK_STREAM, 0), "TCP sockets");
		struct sockaddr_in address = bound(listener);

		must(listen(listener, 1), "listen");
		to[i] = must(socket(AF_INET, SOCK_STREAM, 0), "TCP sockets");
		must(connect(to[i], (struct sockaddr *)&address, sizeof(address)), "connect");
		from[i] = must(accept(listener, NULL, NULL), "accept");
		must(setsockopt(to[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)),
		     "TCP_NODELAY");
	}
}

static void fill(int times)
{
	for (int i = 0; i < times; i++)
		must(write(to[0], mine, 1), "write");
}

static void make_filled_pipe(void)
{
	make_pipes();
	fill(1000);
}

static void make_filled_stream(void)
{
	make_stream_pairs();
	fill(60);
}

static void make_eventfds(void)
{
	for (int i = 0; i < 2; i++)
		from[i] = to[i] = must(eventfd(1, EFD_NONBLOCK), "eventfd");
}

static void make_epolls(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	make_eventfds();
	for (int i = 0; i < 2; i++) {
		from[i] = must(epoll_create1(0), "epoll");
		must(epoll_ctl(from[i], EPOLL_CTL_ADD, to[i], &event), "epoll_ctl");
	}
}

static void make_signalfds(void)
{
	sigset_t none;

	sigemptyset(&none);
	for (int i = 0; i < 2; i++)
		from[i] = must(signalfd(-1, &none, 0), "signalfd");
}

static void make_timerfds(void)
{
	for (int i = 0; i < 2; i++)
		from[i] = must(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create");
}

static void make_inotify(void)
{
	enter_tmpfs(NULL);
	for (int i = 0; i < 2; i++) {
		from[i] = must(inotify_init1(IN_NONBLOCK), "inotify");
		must(mkdir(i ? "1" : "0", 0700), "mkdir");
	}
}

static void make_futexes(void)
{
	futexes = common_memory(2 * sizeof(*futexes));
}

static void remove_sem(void)
{
	for (int i = 0; i < 2; i++)
		semctl(from[i], 0, IPC_RMID);
}

static void make_sems(void)
{
	for (int i = 0; i < 2; i++)
		from[i] = must(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600), "System V semaphores");
	atexit(remove_sem);
}

static void remove_msg(void)
{
	for (int i = 0; i < 2; i++)
		msgctl(from[i], IPC_RMID, NULL);
}

static void make_msgs(void)
{
	for (int i = 0; i < 2; i++)
		from[i] = must(msgget(IPC_PRIVATE, IPC_CREAT | 0600), "System V messages");
	atexit(remove_msg);
}

static void make_mqs(void)
{
	struct mq_attr attributes = { .mq_maxmsg = 4, .mq_msgsize = 64 };

	for (int i = 0; i < 2; i++) {
		const char *name = i ? "/suite-1" : "/suite-0";

		from[i] = must(mq_open(name, O_RDWR | O_CREAT, 0600, &attributes),
			       "POSIX message queues");
		mq_unlink(name);
	}
}

static void use_object(int me)
{
	mine[me].fd = from[whose(me)];
	mine[me].other_fd = to[whose(me)];
}

static void use_number(int me)
{
	sprintf(mine[me].path, "%d", me);
}

static void use_inotify(int me)
{
	use_object(me);
	use_number(me);
}

/* What each adds to an epoll is its own. */
static void use_epoll(int me)
{
	use_object(me);
	mine[me].other_fd = must(eventfd(0, 0), "eventfd");
}

static void op_through(int me)
{
	must(write(mine[me].other_fd, mine[me].buffer, 1), "write");
	must(read(mine[me].fd, mine[me].buffer, 1), "read");
}

static void op_flow(int me)
{
	if (me)
		must(read(mine[me].fd, mine[me].buffer, 1), "read");
	else
		must(write(mine[me].other_fd, mine[me].buffer, 1), "write");
}

static void op_poll(int me)
{
	struct pollfd one = { .fd = mine[me].fd, .events = POLLIN };

	must(poll(&one, 1, 0), "poll");
}

static void op_pipe_new(int me)
{
	int *ends = (int *)mine[me].buffer;

	must(pipe(ends), "pipe");
	close(ends[0]);
	close(ends[1]);
}

static void op_socket_new(int me)
{
	(void)me;
	close(must(socket(AF_UNIX, SOCK_STREAM, 0), "Unix sockets"));
}

static void op_eventfd(int me)
{
	uint64_t one = 1;

	must(write(mine[me].other_fd, &one, sizeof(one)), "write");
}

static void op_epoll_wait(int me)
{
	struct epoll_event event;

	if (must(epoll_wait(mine[me].fd, &event, 1, 0), "epoll_wait") != 1)
		die("no event");
}

static void op_epoll_ctl(int me)
{
	struct epoll_event event = { .events = EPOLLIN };

	must(epoll_ctl(mine[me].fd, EPOLL_CTL_ADD, mine[me].other_fd, &event), "epoll_ctl");
	must(epoll_ctl(mine[me].fd, EPOLL_CTL_DEL, mine[me].other_fd, &event), "epoll_ctl");
}

static void op_signalfd(int me)
{
	sigset_t none;

	sigemptyset(&none);
	must(signalfd(mine[me].fd, &none, 0), "signalfd");
}

static void op_timerfd(int me)
{
	struct itimerspec at = { .it_value = hour };

	must(timerfd_settime(mine[me].fd, 0, &at, NULL), "timerfd_settime");
}

static void op_inotify(int me)
{
	int watch = must(inotify_add_watch(mine[me].fd, mine[me].path, IN_OPEN), "a watch");

	must(inotify_rm_watch(mine[me].fd, watch), "inotify_rm_watch");
	/* IN_IGNORED; where there is one queue, perhaps that of the other. */
	if (read(mine[me].fd, mine[me].buffer, sizeof(mine[me].buffer)) < 0 && errno != EAGAIN)
		die("read");
}

static void op_futex(int me)
{
	must(syscall(SYS_futex, &futexes[whose(me)].word, FUTEX_WAKE, 1), "FUTEX_WAKE");
}

static void op_sem(int me)
{
	struct sembuf up = { .sem_op = 1 }, down = { .sem_op = -1 };

	must(semop(mine[me].fd, &up, 1), "semop");
	must(semop(mine[me].fd, &down, 1), "semop");
}

static void op_msg(int me)
{
	struct {
		long type;
		char text[64];
	} message = { .type = 1 + me };

	must(msgsnd(mine[me].fd, &message, sizeof(message.text), 0), "msgsnd");
	must(msgrcv(mine[me].fd, &message, sizeof(message.text), 1 + me, 0), "msgrcv");
}

static void op_mq(int me)
{
	must(mq_send(mine[me].fd, mine[me].buffer, 64, 0), "mq_send");
	must(mq_receive(mine[me].fd, mine[me].buffer, 64, NULL), "mq_receive");
}

static const struct shared_variant variants[] = {
	{ "pipe", make_pipes, use_object, op_through },
	{ "pipe-flow", make_filled_pipe, use_object, op_flow },
	{ "pipe-poll", make_pipes, use_object, op_poll },
	{ "pipe-new", NULL, NULL, op_pipe_new },
	{ "unix-stream", make_stream_pairs, use_object, op_through },
	{ "unix-flow", make_filled_stream, use_object, op_flow },
	{ "unix-dgram", make_dgram_pairs, use_object, op_through },
	{ "unix-new", NULL, NULL, op_socket_new },
	{ "udp", make_udp, use_object, op_through },
	{ "tcp", make_tcp, use_object, op_through },
	{ "eventfd", make_eventfds, use_object, op_eventfd },
	{ "epoll-wait", make_epolls, use_object, op_epoll_wait },
	{ "epoll-ctl", make_epolls, use_epoll, op_epoll_ctl },
	{ "signalfd", make_signalfds, use_object, op_signalfd },
	{ "timerfd", make_timerfds, use_object, op_timerfd },
	{ "inotify", make_inotify, use_inotify, op_inotify },
	{ "futex", make_futexes, NULL, op_futex },
	{ "sem", make_sems, use_object, op_sem },
	{ "msg", make_msgs, use_object, op_msg },
	{ "mq", make_mqs, use_object, op_mq },
	{}
};

int main(int argc, char **argv)
{
	return run_shared(variants, argc, argv);
}
