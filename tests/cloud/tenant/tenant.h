/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TENANT_H
#define TENANT_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_US INT64_C(1000)

int64_t clock_ns(clockid_t clock);

/* Sleeps until a time of CLOCK_MONOTONIC. */
void sleep_until(int64_t ns);

/* Works for as much CPU time of this thread. */
void work(int64_t cpu_ns);

/*
 * Tries what the words of an order say, and goes on with what it got until
 * it is killed.  Each try is a line on standard output; "begun" is the last.
 */
_Noreturn void attack(char **words);

#endif
