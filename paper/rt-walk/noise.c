/* SPDX-License-Identifier: Apache-2.0 */

/* A periodic task of the paper's noise. */

#include "rt-walk.h"

#include <time.h>

#include "message.h"
#include "work.h"

void run_noise(int64_t busy_ns, int64_t period_ns)
{
	int64_t next = clock_ns(CLOCK_MONOTONIC);
	struct worker worker;

	for (;;) {
		struct timespec until;

		next += period_ns;
		until.tv_sec = next / NS_PER_S;
		until.tv_nsec = next % NS_PER_S;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		work_start(&worker);
		work(&worker, busy_ns);
	}
}
