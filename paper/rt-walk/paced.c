/* SPDX-License-Identifier: Apache-2.0 */

/* A server whose requests come by its own clock, without a client. */

#include "rt-walk.h"

#include <time.h>

#include "message.h"
#include "requests.h"
#include "work.h"

static void wait_until(int64_t ns)
{
	struct timespec until = { ns / NS_PER_S, ns % NS_PER_S };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

void run_paced(void)
{
	struct requests requests = requests_read(1);
	int64_t start = clock_ns(CLOCK_MONOTONIC);
	struct worker worker;

	work_start(&worker);
	for (uint32_t i = 0; i < requests.count; i++) {
		struct request *one = &requests.all[i];

		if (clock_ns(CLOCK_MONOTONIC) < start + one->at_ns)
			wait_until(start + one->at_ns);
		work(&worker, (int64_t)one->cpu_ns);
		one->sent_ns = one->at_ns;
		one->response_ns = clock_ns(CLOCK_MONOTONIC) - start -
				   one->at_ns;
		one->cpu_ns = (uint64_t)clock_ns(CLOCK_THREAD_CPUTIME_ID);
	}
	requests_print(&requests);
}
