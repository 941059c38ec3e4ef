/* SPDX-License-Identifier: Apache-2.0 */

/* One thread that serves requests over UDP and TCP in order of arrival. */

#include "rt-walk.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "message.h"
#include "room.h"
#include "work.h"

/* One request at a time, so that no request waits for a batch. */
#define EVENTS 1

static int open_socket(int type, const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, type, 0);
	int on = 1;

	if (fd < 0)
		fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	make_room(fd);
	if (bind(fd, (const struct sockaddr *)address, sizeof(*address)))
		fail("bind");
	if (type == SOCK_STREAM && listen(fd, SOMAXCONN))
		fail("listen");
	return fd;
}

static void watch(int poller, int fd)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	struct epoll_event event = { .events = EPOLLIN };

	if (!stream)
		fail("calloc");
	stream->fd = fd;
	event.data.ptr = stream;
	if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event))
		fail("epoll_ctl");
}

static void welcome(int poller, int listener)
{
	int fd = accept(listener, NULL, NULL);
	int on = 1;

	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	watch(poller, fd);
}

/* Does the work of a request and turns the request into the reply. */
static void serve(struct worker *worker, struct header *header)
{
	struct header message = message_decode(header);

	work(worker, (int64_t)message.cpu_ns);
	message.cpu_ns = (uint64_t)clock_ns(CLOCK_THREAD_CPUTIME_ID);
	message.size = sizeof(message);
	*header = message_encode(&message);
}

static void serve_datagram(struct worker *worker, int fd)
{
	static union {
		struct header header;
		char bytes[MAX_SIZE];
	} request;
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	ssize_t got = recvfrom(fd, &request, sizeof(request), MSG_DONTWAIT,
			       (struct sockaddr *)&from, &size);

	if (got < (ssize_t)sizeof(request.header))
		return;
	serve(worker, &request.header);
	sendto(fd, &request.header, sizeof(request.header), 0,
	       (struct sockaddr *)&from, size);
}

static void serve_stream(struct worker *worker, struct stream *stream)
{
	int got = stream_read(stream);

	if (got > 0) {
		serve(worker, &stream->header);
		if (send(stream->fd, &stream->header, sizeof(stream->header),
			 MSG_NOSIGNAL) < 0)
			got = -1;
	}
	if (got < 0) {
		close(stream->fd);
		free(stream);
	}
}

void run_server(const struct sockaddr_in *address)
{
	int datagrams = open_socket(SOCK_DGRAM, address);
	int listener = open_socket(SOCK_STREAM, address);
	int poller = epoll_create1(0);
	struct epoll_event event;
	struct worker worker;

	watch(poller, datagrams);
	watch(poller, listener);
	puts("ready");
	fflush(stdout);
	work_start(&worker);
	for (;;) {
		struct stream *stream;

		if (epoll_wait(poller, &event, EVENTS, -1) < 0) {
			if (errno == EINTR)
				continue;
			fail("epoll_wait");
		}
		stream = event.data.ptr;
		if (stream->fd == datagrams)
			serve_datagram(&worker, datagrams);
		else if (stream->fd == listener)
			welcome(poller, listener);
		else
			serve_stream(&worker, stream);
	}
}
