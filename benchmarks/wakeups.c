/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeps until times of the clock that are 1 ms apart, as a SCHED_FIFO task.
 * usage: wakeups COUNT FILE, where FILE gets how late each wake-up was, in ns
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define S 1000000000LL
#define STEP 1000000LL

static long long now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * S + at.tv_nsec;
}

int main(int argc, char **argv)
{
	struct sched_param priority = { .sched_priority = 60 };
	long long due, *late;
	struct timespec at;
	FILE *file;
	int count;

	if (argc != 3)
		return 2;
	count = atoi(argv[1]);
	late = calloc(count, sizeof(*late));
	file = fopen(argv[2], "w");
	if (!late || !file || sched_setscheduler(0, SCHED_FIFO, &priority))
		return 1;
	due = now();
	for (int i = 0; i < count; i++) {
		due += STEP;
		at.tv_sec = due / S;
		at.tv_nsec = due % S;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		late[i] = now() - due;
	}
	fwrite(late, sizeof(*late), count, file);
	return fclose(file) != 0;
}
