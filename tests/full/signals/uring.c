/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that reads and sends by io_uring: a fixed answer to each read.
 * usage: uring PORT ANSWER-BYTES
 */
#include <arpa/inet.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define FILES 1024

enum { ACCEPT, READ, SEND };

static struct io_uring ring;
static char asked[FILES][4096], *answer;
static int size;

static void submit(int what, int file)
{
	struct io_uring_sqe *entry = io_uring_get_sqe(&ring);

	if (what == ACCEPT)
		io_uring_prep_accept(entry, file, NULL, NULL, 0);
	else if (what == READ)
		io_uring_prep_recv(entry, file, asked[file], sizeof(asked[0]),
				   0);
	else
		io_uring_prep_send(entry, file, answer, size, MSG_WAITALL);
	io_uring_sqe_set_data64(entry, (unsigned long)what << 32 | file);
}

static void complete(int listener, int what, int file, int result)
{
	if (what == ACCEPT) {
		if (result >= FILES)
			close(result);
		else if (result >= 0)
			submit(READ, result);
		submit(ACCEPT, listener);
	} else if (result <= 0) {
		close(file);
	} else {
		submit(what == READ ? SEND : READ, file);
	}
}

int main(int count, char **words)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct io_uring_cqe *entry;
	unsigned long data;
	int result;

	if (count != 3)
		return 2;
	at.sin_port = htons(atoi(words[1]));
	size = atoi(words[2]);
	answer = calloc(1, size);
	if (bind(listener, (void *)&at, sizeof(at)) || listen(listener, 64) ||
	    io_uring_queue_init(256, &ring, 0))
		return 1;
	submit(ACCEPT, listener);
	for (;;) {
		io_uring_submit(&ring);
		if (io_uring_wait_cqe(&ring, &entry))
			return 1;
		data = entry->user_data;
		result = entry->res;
		io_uring_cqe_seen(&ring, entry);
		complete(listener, data >> 32, (int)data, result);
	}
}
