/* SPDX-License-Identifier: GPL-2.0-or-later
 * bound.c - sends a datagram to each ADDRESS PORT out of the first device that is not lo; prints how many were tried:
 * where a packet is refused at once the call fails too. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	char device[IF_NAMESIZE] = "";
	int tried = 0;

	for (unsigned i = 2; i < 64 && !device[0]; i++)
		(void)if_indextoname(i, device);
	for (int i = 1; i + 1 < argc; i += 2) {
		struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[i + 1])) };
		int fd = socket(AF_INET, SOCK_DGRAM, 0);

		inet_pton(AF_INET, argv[i], &to.sin_addr);
		/* the refusal is told to later calls: each has a socket of its own */
		if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, sizeof(device)) == 0) {
			(void)!sendto(fd, "x", 1, 0, (void *)&to, sizeof(to));
			tried++;
		}
		close(fd);
	}
	printf("%d\n", tried);
	return 0;
}
