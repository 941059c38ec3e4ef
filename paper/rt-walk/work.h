/* SPDX-License-Identifier: Apache-2.0 */

/* Work, measured in CPU time of the calling thread. */

#ifndef WORK_H
#define WORK_H

#include <stdint.h>

struct worker {
	int64_t done_ns; /* CPU time that all work so far accounts for */
};

void work_start(struct worker *worker);

/* Uses this much CPU time, minus the CPU time since the last call, so that
 * the cost of receiving and replying is part of the work. */
void work(struct worker *worker, int64_t cpu_ns);

#endif
