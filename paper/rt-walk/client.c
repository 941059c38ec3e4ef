/* SPDX-License-Identifier: Apache-2.0 */

/* Sends each request on time, whether or not earlier ones are answered. */

#define _GNU_SOURCE

#include "rt-walk.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "message.h"
#include "requests.h"
#include "room.h"

/* How long to wait for replies after the last request was sent. */
#define PATIENCE_NS (5 * NS_PER_S)

struct client {
	struct requests requests;
	uint32_t sent;
	uint32_t answered;
	struct stream *streams;
	struct pollfd *polls;
	int connections;
	bool datagrams;
};

static void open_connections(struct client *client, int type,
			     const struct sockaddr_in *address)
{
	int on = 1;

	for (int i = 0; i < client->connections; i++) {
		int fd = socket(AF_INET, type, 0);

		if (fd < 0)
			fail("socket");
		make_room(fd);
		if (connect(fd, (const struct sockaddr *)address,
			    sizeof(*address)))
			fail("connect");
		if (!client->datagrams)
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on,
				   sizeof(on));
		client->streams[i].fd = fd;
		client->polls[i] = (struct pollfd){ fd, POLLIN, 0 };
	}
}

/* A whole datagram is a message: the next read returns another one. */
static int read_reply(const struct client *client, struct stream *stream)
{
	if (!client->datagrams)
		return stream_read(stream);
	return recv(stream->fd, &stream->header, sizeof(stream->header),
		    MSG_DONTWAIT) == sizeof(stream->header);
}

static void take_replies(struct client *client, int64_t start,
			 struct stream *stream)
{
	int got;

	while ((got = read_reply(client, stream)) > 0) {
		struct header reply = message_decode(&stream->header);
		struct request *request;

		if (reply.number >= client->sent)
			continue;
		request = &client->requests.all[reply.number];
		if (request->response_ns < 0)
			client->answered++;
		request->response_ns = clock_ns(CLOCK_MONOTONIC) - start -
				       request->sent_ns;
		request->cpu_ns = reply.cpu_ns;
	}
	if (got < 0) {
		fputs("rt-walk: the server closed a connection\n", stderr);
		exit(1);
	}
}

static void send_due(struct client *client, int64_t start)
{
	while (client->sent < client->requests.count) {
		struct request *one = &client->requests.all[client->sent];
		struct header header = { one->size, client->sent,
					 one->cpu_ns };

		one->sent_ns = clock_ns(CLOCK_MONOTONIC) - start;
		if (one->sent_ns < one->at_ns)
			break;
		client->sent++;
		one->cpu_ns = 0;
		/* A request that the network refuses has no reply. */
		message_send(client->streams[one->connection].fd, &header);
	}
}

static void run(struct client *client)
{
	int64_t start = clock_ns(CLOCK_MONOTONIC);
	int64_t last = start;

	while (client->answered < client->requests.count) {
		struct timespec wait;
		int64_t next;

		send_due(client, start);
		if (client->sent < client->requests.count)
			last = start + client->requests.all[client->sent].at_ns;
		next = last - clock_ns(CLOCK_MONOTONIC) +
		       (client->sent < client->requests.count ? 0 : PATIENCE_NS);
		if (next < 0 && client->sent == client->requests.count)
			break;
		next = next < 0 ? 0 : next;
		wait.tv_sec = next / NS_PER_S;
		wait.tv_nsec = next % NS_PER_S;
		if (ppoll(client->polls, (nfds_t)client->connections, &wait,
			  NULL) < 0)
			fail("ppoll");
		for (int i = 0; i < client->connections; i++)
			if (client->polls[i].revents)
				take_replies(client, start,
					     &client->streams[i]);
	}
}

void run_client(const struct sockaddr_in *address, int type, int connections)
{
	size_t count = (size_t)connections;
	struct client client = {
		.connections = connections,
		.datagrams = type == SOCK_DGRAM,
		.streams = calloc(count, sizeof(struct stream)),
		.polls = calloc(count, sizeof(struct pollfd)),
	};

	if (!client.streams || !client.polls)
		fail("calloc");
	client.requests = requests_read(connections);
	open_connections(&client, type, address);
	run(&client);
	requests_print(&client.requests);
}
