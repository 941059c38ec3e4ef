/* SPDX-License-Identifier: Apache-2.0 */

#include "work.h"

#include <time.h>

#include "message.h"

/* The most CPU time that may be owed after requests that cost too much. */
#define MAX_DEBT_NS 100000

void work_start(struct worker *worker)
{
	worker->done_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void work(struct worker *worker, int64_t cpu_ns)
{
	int64_t now;

	worker->done_ns += cpu_ns;
	/* Each reading of this clock also makes the kernel charge the budget. */
	do
		now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	while (now < worker->done_ns);
	if (worker->done_ns < now - MAX_DEBT_NS)
		worker->done_ns = now - MAX_DEBT_NS;
}
