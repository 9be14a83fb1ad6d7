/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inet WHAT SIZE OPS: TCP and UDP over the loopback device, within one process: SIZE bytes, at most
 * 64 KiB, are sent and received; or a connection is made and closed; or a socket.
 */
#include "variants.h"
#include "loopback.h"

#include <netinet/tcp.h>

/* The largest datagram of IPv4. */
#define MAX_DATAGRAM 65507

static int from, to, listener;
static size_t size;
static char *buffer;
static struct sockaddr_in address;

static void make_buffer(void)
{
	size = size_of(words[0]);
	if (!size || size > 64 << 10)
		usage("WHAT SIZE OPS");
	buffer = state_map("anon", 64 << 10);
	loopback_up();
}

static void make_udp(void)
{
	make_buffer();
	if (size > MAX_DATAGRAM)
		size = MAX_DATAGRAM;
	to = must(socket(AF_INET, SOCK_DGRAM, 0), "UDP sockets");
	address = bound(to);
	from = must(socket(AF_INET, SOCK_DGRAM, 0), "UDP sockets");
	must(connect(from, (struct sockaddr *)&address, sizeof(address)), "connect");
}

static void make_listener(void)
{
	make_buffer();
	listener = must(socket(AF_INET, SOCK_STREAM, 0), "TCP sockets");
	address = bound(listener);
	must(listen(listener, 4), "listen");
}

static void make_tcp(void)
{
	int one = 1, room = 1 << 20;

	make_listener();
	from = must(socket(AF_INET, SOCK_STREAM, 0), "TCP sockets");
	must(setsockopt(from, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), "SO_SNDBUF");
	must(connect(from, (struct sockaddr *)&address, sizeof(address)), "connect");
	to = must(accept(listener, NULL, NULL), "accept");
	must(setsockopt(from, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), "TCP_NODELAY");
}

static void op_transfer(void)
{
	if (must(write(from, buffer, size), "write") != (long)size)
		die("a short write");
	for (size_t done = 0; done < size;)
		done += must(read(to, buffer, size), "read");
}

static void op_socket(void)
{
	close(must(socket(AF_INET, SOCK_DGRAM, 0), "UDP sockets"));
}

static void op_connect(void)
{
	/* The client resets, so that no connection stays behind in TIME_WAIT. */
	struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	int client = must(socket(AF_INET, SOCK_STREAM, 0), "TCP sockets");
	int server;

	must(connect(client, (struct sockaddr *)&address, sizeof(address)), "connect");
	server = must(accept(listener, NULL, NULL), "accept");
	must(setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), "SO_LINGER");
	close(client);
	close(server);
}

static const struct variant variants[] = {
	{ "tcp", make_tcp, op_transfer },
	{ "udp", make_udp, op_transfer },
	{ "socket", make_buffer, op_socket },
	{ "connect", make_listener, op_connect },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT SIZE OPS", argc, argv);
}
