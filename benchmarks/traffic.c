/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends requests and answers of fixed sizes and records their times, with
 * which traffic.py compares the monitor.  Times are ns on the monotonic clock.
 *
 * traffic server ADDRESS[:PORT] ASKED ANSWERED SENDFILE WORK_US FILE
 *	prints its port; at SIGTERM writes "arrived read first last" of each
 * traffic client ADDRESS PORT CONNECTIONS RATE COUNT ASKED ANSWERED SEED FILE
 *	[REQUEST]
 *	sends requests at random times; writes "asked answered" of each; the
 *	file REQUEST has the bytes of a request
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#define MOST 8192
#define EVENTS 64
#define S 1000000000LL

typedef long long ns;

struct connection {
	int file;
	size_t left;		/* to read of this message */
	size_t sent;		/* of the answer */
	int answers;
	ns times[4];
};

static struct connection connections[MOST];
static char buffer[1 << 20], request[1 << 16];
static size_t asked, answered;
static int polled, content, by_sendfile, work_us;
static volatile sig_atomic_t ended;
static FILE *log_file;

static void check(long result, const char *what)
{
	if (result < 0) {
		perror(what);
		exit(1);
	}
}

static ns clock_of(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * S + now.tv_nsec;
}

static ns now(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

static void wait_for(struct connection *one, int events, int how)
{
	struct epoll_event event = { .events = events, .data.ptr = one };

	check(epoll_ctl(polled, how, one->file, &event), "epoll_ctl");
}

static void write_times(struct connection *one, int count)
{
	fwrite(one->times, sizeof(ns), count, log_file);
}

static void end(int number)
{
	ended = number;
}

/* A server. */

static void work(void)
{
	ns until = clock_of(CLOCK_THREAD_CPUTIME_ID) + work_us * 1000LL;

	while (work_us && clock_of(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

/* Reads, and sets when the data arrived, or 0 if the kernel does not say. */
static ssize_t read_stamped(struct connection *one, ns *arrived)
{
	char control[CMSG_SPACE(sizeof(struct timespec))];
	struct iovec data = { buffer, one->left };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control) };
	ssize_t got = recvmsg(one->file, &message, 0);
	struct cmsghdr *part;
	struct timespec stamp;

	*arrived = 0;
	if (got <= 0)
		return got;
	for (part = CMSG_FIRSTHDR(&message); part;
	     part = CMSG_NXTHDR(&message, part))
		if (part->cmsg_type == SCM_TIMESTAMPNS) {
			memcpy(&stamp, CMSG_DATA(part), sizeof(stamp));
			*arrived = stamp.tv_sec * S + stamp.tv_nsec +
				now() - clock_of(CLOCK_REALTIME);
		}
	return got;
}

static void answer(struct connection *one)
{
	off_t at;
	ssize_t sent;

	while (one->sent < answered) {
		at = one->sent;
		sent = by_sendfile ?
			sendfile(one->file, content, &at,
				 answered - one->sent) :
			send(one->file, buffer, answered - one->sent,
			     MSG_NOSIGNAL);
		if (sent < 0 && errno == EAGAIN) {
			wait_for(one, EPOLLOUT, EPOLL_CTL_MOD);
			return;
		}
		check(sent, "send");
		one->sent += sent;
	}
	one->times[3] = now();
	write_times(one, 4);
	one->left = asked;
	one->sent = one->answers = 0;
	wait_for(one, EPOLLIN, EPOLL_CTL_MOD);
}

static void serve(struct connection *one)
{
	ns arrived;
	ssize_t got;

	if (!one->answers) {
		got = read_stamped(one, &arrived);
		if (got <= 0) {
			close(one->file);
			return;
		}
		if (one->left == asked) {
			one->times[1] = now();
			/* The kernel does not stamp the first packets. */
			one->times[0] = arrived ? arrived : one->times[1];
		}
		one->left -= got;
		if (one->left)
			return;
		work();
		one->answers = 1;
		one->times[2] = now();
	}
	answer(one);
}

static int listen_at(char *where)
{
	char *port = strchr(where, ':');
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int file = socket(AF_INET, SOCK_STREAM, 0);

	if (port) {
		*port = 0;
		address.sin_port = htons(atoi(port + 1));
	}
	address.sin_addr.s_addr = inet_addr(where);
	check(bind(file, (void *)&address, size), "bind");
	check(listen(file, 1024), "listen");
	check(getsockname(file, (void *)&address, &size), "getsockname");
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	return file;
}

static void server(char **words)
{
	struct epoll_event events[EVENTS];
	struct connection *one = connections;
	struct sigaction action = { .sa_handler = end };
	int count, yes = 1;

	asked = atol(words[1]);
	answered = atol(words[2]);
	by_sendfile = atoi(words[3]);
	work_us = atoi(words[4]);
	log_file = fopen(words[5], "w");
	content = memfd_create("content", 0);
	check(ftruncate(content, answered), "ftruncate");
	sigaction(SIGTERM, &action, NULL);
	one->file = listen_at(words[0]);
	wait_for(one++, EPOLLIN, EPOLL_CTL_ADD);
	while (!ended) {
		count = epoll_wait(polled, events, EVENTS, -1);
		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr != connections) {
				serve(events[i].data.ptr);
				continue;
			}
			one->file = accept4(connections->file, NULL, NULL,
					    SOCK_NONBLOCK);
			check(one->file, "accept");
			setsockopt(one->file, IPPROTO_TCP, TCP_NODELAY,
				   &yes, sizeof(yes));
			setsockopt(one->file, SOL_SOCKET, SO_TIMESTAMPNS,
				   &yes, sizeof(yes));
			one->left = asked;
			wait_for(one++, EPOLLIN, EPOLL_CTL_ADD);
		}
	}
}

/* A client. */

/* The connection that was idle for longest is used first. */
static struct connection *idle[MOST];
static unsigned int idle_since, idle_until;

static void rest(struct connection *one)
{
	idle[idle_until++ % MOST] = one;
}

static void connect_all(const char *where, int port, int count)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = inet_addr(where),
		.sin_port = htons(port) };
	int yes = 1;

	for (struct connection *one = connections;
	     one < connections + count; one++) {
		one->file = socket(AF_INET, SOCK_STREAM, 0);
		check(connect(one->file, (void *)&address, sizeof(address)),
		      "connect");
		setsockopt(one->file, IPPROTO_TCP, TCP_NODELAY, &yes,
			   sizeof(yes));
		fcntl(one->file, F_SETFL, O_NONBLOCK);
		wait_for(one, EPOLLIN, EPOLL_CTL_ADD);
		rest(one);
	}
}

static void ask(struct connection *one)
{
	one->left = answered;
	one->times[0] = now();
	check(send(one->file, request, asked, MSG_NOSIGNAL), "send");
}

static int hear(struct connection *one)
{
	ssize_t got = recv(one->file, buffer, sizeof(buffer), 0);

	if (got < 0 && errno == EAGAIN)
		return 0;
	if (!got)
		errno = ECONNRESET;
	check(got - 1, "recv");
	one->left -= got;
	if (one->left)
		return 0;
	one->times[1] = now();
	write_times(one, 2);
	rest(one);
	return 1;
}

static void client(char **words)
{
	struct epoll_event events[EVENTS];
	double rate = atof(words[3]);
	long left = atol(words[4]), heard = 0, total = left;
	struct timespec pause;
	ns due, ahead;
	int count;

	asked = atol(words[5]);
	answered = atol(words[6]);
	srand48(atol(words[7]));
	log_file = fopen(words[8], "w");
	if (words[9])
		check(fread(request, 1, asked, fopen(words[9], "r")) - asked,
		      "request");
	connect_all(words[0], atoi(words[1]), atoi(words[2]));
	due = now();
	while (heard < total) {
		while (left && idle_since != idle_until && due <= now()) {
			ask(idle[idle_since++ % MOST]);
			left--;
			due -= S / rate * log(1 - drand48());
		}
		ahead = left && idle_since != idle_until ? due - now() : S;
		if (ahead < 0)
			ahead = 0;
		pause.tv_sec = ahead / S;
		pause.tv_nsec = ahead % S;
		count = epoll_pwait2(polled, events, EVENTS, &pause, NULL);
		for (int i = 0; i < count; i++)
			heard += hear(events[i].data.ptr);
	}
}

int main(int argc, char **argv)
{
	polled = epoll_create1(0);
	if (argc == 8 && !strcmp(argv[1], "server"))
		server(argv + 2);
	else if ((argc == 11 || argc == 12) && !strcmp(argv[1], "client"))
		client(argv + 2);
	else
		return 2;
	return fclose(log_file) != 0;
}
