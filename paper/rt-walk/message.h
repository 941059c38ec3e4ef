/* SPDX-License-Identifier: Apache-2.0 */

/* The format of requests and replies, and the clocks that time them. */

#ifndef MESSAGE_H
#define MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000LL
/* The largest payload of a UDP datagram over IPv4. */
#define MAX_SIZE 65507

/* The start of every message, in network byte order; the rest is padding. */
struct header {
	uint32_t size; /* bytes, with this header */
	uint32_t number; /* of the request, from 0 */
	uint64_t cpu_ns; /* asked for in a request, that the server has used in a reply */
};

/* The received part of the next message in a TCP stream. */
struct stream {
	int fd;
	uint32_t got;
	struct header header;
};

/* Reads the part of a message that has arrived, without waiting.
 * Returns 1 when it is complete, 0 when it is not, -1 at the end. */
int stream_read(struct stream *stream);

/* Sends a whole message of header->size bytes (host byte order in *header). */
bool message_send(int fd, const struct header *header);

/* Returns the message in *header*, converted from network byte order. */
struct header message_decode(const struct header *header);
struct header message_encode(const struct header *header);

int64_t clock_ns(clockid_t clock);

/* Prints what failed, with errno, and exits with 1. */
_Noreturn void fail(const char *what);

#endif
