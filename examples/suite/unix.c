/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unix WHAT SIZE OPS: Unix sockets within one process: SIZE bytes, at most 64 KiB, are sent and
 * received; or a file descriptor is passed; or sockets are made.
 */
#include "variants.h"

#include <sys/socket.h>
#include <sys/un.h>

static int pair[2], listener;
static size_t size;
static char *buffer;
static struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };

static void make_pair(int type)
{
	int room = 256 << 10;

	size = size_of(words[0]);
	if (!size || size > 64 << 10)
		usage("WHAT SIZE OPS");
	buffer = state_map("anon", 64 << 10);
	must(socketpair(AF_UNIX, type, 0, pair), "Unix sockets");
	must(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), "SO_SNDBUF");
}

static void make_stream(void)
{
	make_pair(SOCK_STREAM);
}

static void make_dgram(void)
{
	make_pair(SOCK_DGRAM);
}

static void make_listener(void)
{
	enter_tmpfs(NULL);
	listener = must(socket(AF_UNIX, SOCK_STREAM, 0), "Unix sockets");
	must(bind(listener, (struct sockaddr *)&address, sizeof(address)), "bind");
	must(listen(listener, 4), "listen");
}

static void op_transfer(void)
{
	if (must(write(pair[0], buffer, size), "write") != (long)size)
		die("a short write");
	for (size_t done = 0; done < size;)
		done += must(read(pair[1], buffer, size), "read");
}

static void op_pass_fd(void)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {
		.header = {
			.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		},
	};
	struct iovec part = { buffer, 1 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fd = 1;

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	must(sendmsg(pair[0], &message, 0), "sendmsg");
	message.msg_controllen = sizeof(control);
	must(recvmsg(pair[1], &message, 0), "recvmsg");
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	must(close(fd), "close of the descriptor that was passed");
}

static void op_create(void)
{
	int both[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, both), "Unix sockets");
	close(both[0]);
	close(both[1]);
}

static void op_connect(void)
{
	int client = must(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	int server;

	must(connect(client, (struct sockaddr *)&address, sizeof(address)), "connect");
	server = must(accept(listener, NULL, NULL), "accept");
	close(server);
	close(client);
}

static const struct variant variants[] = {
	{ "stream", make_stream, op_transfer },
	{ "dgram", make_dgram, op_transfer },
	{ "pass-fd", make_stream, op_pass_fd },
	{ "socketpair", NULL, op_create },
	{ "connect", make_listener, op_connect },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT SIZE OPS", argc, argv);
}
