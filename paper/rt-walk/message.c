/* SPDX-License-Identifier: Apache-2.0 */

#include "message.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void fail(const char *what)
{
	fprintf(stderr, "rt-walk: %s: %s\n", what, strerror(errno));
	exit(1);
}

struct header message_decode(const struct header *header)
{
	return (struct header){
		.size = be32toh(header->size),
		.number = be32toh(header->number),
		.cpu_ns = be64toh(header->cpu_ns),
	};
}

struct header message_encode(const struct header *header)
{
	return (struct header){
		.size = htobe32(header->size),
		.number = htobe32(header->number),
		.cpu_ns = htobe64(header->cpu_ns),
	};
}

bool message_send(int fd, const struct header *header)
{
	static char buffer[MAX_SIZE];
	struct header encoded = message_encode(header);
	uint32_t sent = 0;

	memcpy(buffer, &encoded, sizeof(encoded));
	while (sent < header->size) {
		ssize_t done = send(fd, buffer + sent, header->size - sent,
				    MSG_NOSIGNAL);

		if (done < 0)
			return false;
		sent += (uint32_t)done;
	}
	return true;
}

/* Returns how much to read next: the rest of the header, then the padding. */
static size_t wanted(const struct stream *stream)
{
	if (stream->got < sizeof(stream->header))
		return sizeof(stream->header) - stream->got;
	return be32toh(stream->header.size) - stream->got;
}

int stream_read(struct stream *stream)
{
	static char padding[MAX_SIZE];
	size_t size;

	while ((size = wanted(stream)) > 0) {
		bool heading = stream->got < sizeof(stream->header);
		char *to = heading ? (char *)&stream->header + stream->got
				   : padding;
		ssize_t got = recv(stream->fd, to, size, MSG_DONTWAIT);

		if (got < 0 && errno == EAGAIN)
			return 0;
		if (got <= 0)
			return -1;
		stream->got += (uint32_t)got;
		if (stream->got == sizeof(stream->header) &&
		    (be32toh(stream->header.size) < sizeof(stream->header) ||
		     be32toh(stream->header.size) > MAX_SIZE))
			return -1;
	}
	stream->got = 0;
	return 1;
}
