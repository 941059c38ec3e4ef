/* SPDX-License-Identifier: Apache-2.0 */

/* A server that works for its requests, a client, and a noisy neighbour. */

#include "rt-walk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "message.h"

static const char usage[] =
	"usage: rt-walk server ADDRESS PORT\n"
	"       rt-walk client ADDRESS PORT udp|tcp CONNECTIONS\n"
	"       rt-walk paced\n"
	"       rt-walk noise BUSY_US PERIOD_US\n";

static _Noreturn void bad_usage(void)
{
	fputs(usage, stderr);
	exit(2);
}

static long number(const char *text, long most)
{
	char *end;
	long found;

	errno = 0;
	found = strtol(text, &end, 10);
	if (errno || *end || end == text || found < 1 || found > most)
		bad_usage();
	return found;
}

static struct sockaddr_in endpoint(const char *address, const char *port)
{
	struct sockaddr_in found = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)number(port, 65535)),
	};

	if (inet_pton(AF_INET, address, &found.sin_addr) != 1)
		bad_usage();
	return found;
}

static int transport(const char *name)
{
	if (!strcmp(name, "udp"))
		return SOCK_DGRAM;
	if (!strcmp(name, "tcp"))
		return SOCK_STREAM;
	bad_usage();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "server") && argc == 4) {
		struct sockaddr_in address = endpoint(argv[2], argv[3]);

		run_server(&address);
	}
	if (!strcmp(mode, "noise") && argc == 4)
		run_noise(number(argv[2], 10000000) * 1000,
			  number(argv[3], 10000000) * 1000);
	if (!strcmp(mode, "paced") && argc == 2) {
		run_paced();
		return 0;
	}
	if (!strcmp(mode, "client") && argc == 6) {
		struct sockaddr_in address = endpoint(argv[2], argv[3]);

		run_client(&address, transport(argv[4]),
			   (int)number(argv[5], 1000));
		return 0;
	}
	bad_usage();
}
