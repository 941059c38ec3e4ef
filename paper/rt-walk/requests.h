/* SPDX-License-Identifier: Apache-2.0 */

/* The requests of a run: what standard input lists and what is printed. */

#ifndef REQUESTS_H
#define REQUESTS_H

#include <stdint.h>

struct request {
	int64_t at_ns;
	int64_t sent_ns;
	int64_t response_ns; /* -1: no reply */
	uint64_t cpu_ns; /* asked for, and later used by the server so far */
	uint32_t size;
	int connection;
};

struct requests {
	struct request *all;
	uint32_t count;
};

/* Reads requests from standard input until its end; exits when one of them
 * names another connection than 0 to connections - 1, or a bad size. */
struct requests requests_read(int connections);

/* Prints a line for each request; see rt-walk.h. */
void requests_print(const struct requests *requests);

#endif
