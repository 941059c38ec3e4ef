/* SPDX-License-Identifier: Apache-2.0 */

#include "requests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "message.h"

static void check(const struct request *one, int connections)
{
	if (one->connection >= 0 && one->connection < connections &&
	    one->size >= sizeof(struct header) && one->size <= MAX_SIZE)
		return;
	fputs("rt-walk: a request has no such connection or size\n", stderr);
	exit(1);
}

struct requests requests_read(int connections)
{
	struct request one = { .response_ns = -1 };
	struct requests read = { NULL, 0 };
	uint32_t room = 0;

	while (scanf("%" SCNd64 " %" SCNu64 " %" SCNu32 " %d", &one.at_ns,
		     &one.cpu_ns, &one.size, &one.connection) == 4) {
		check(&one, connections);
		if (read.count == room) {
			room = room ? 2 * room : 1024;
			read.all = realloc(read.all, room * sizeof(one));
			if (!read.all)
				fail("realloc");
		}
		read.all[read.count++] = one;
	}
	return read;
}

void requests_print(const struct requests *requests)
{
	for (uint32_t i = 0; i < requests->count; i++) {
		const struct request *one = &requests->all[i];

		printf("%" PRId64 " %" PRId64 " %" PRIu64 "\n", one->sent_ns,
		       one->response_ns, one->cpu_ns);
	}
}
