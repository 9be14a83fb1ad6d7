/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loopback device, and addresses on it. Include variants.h first.
 */
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Nobody has turned it on in a guest. */
static inline void loopback_up(void)
{
	int fd = must(socket(AF_INET, SOCK_DGRAM, 0), "IPv4 sockets");
	struct ifreq request = { .ifr_name = "lo" };

	must(ioctl(fd, SIOCGIFFLAGS, &request), "the loopback device");
	request.ifr_flags |= IFF_UP;
	must(ioctl(fd, SIOCSIFFLAGS, &request), "the loopback device");
	close(fd);
}

/* Gives a socket an address on it that is free. */
static inline struct sockaddr_in bound(int fd)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);

	must(bind(fd, (struct sockaddr *)&address, sizeof(address)), "bind");
	must(getsockname(fd, (struct sockaddr *)&address, &size), "getsockname");
	return address;
}

#endif
