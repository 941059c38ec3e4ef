/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What runs in the containers of the tests: a task whose response times are
 * looked at, and a hostile root that obeys orders.
 */

#include "tenant.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORDERS "/dev/orders"
#define SAID "/dev/said"
#define PROBED "/dev/probed"
#define RING 2048
#define MAX_WORDS 16

/* Read from outside while it is written. */
struct probed {
	volatile int64_t count;
	volatile int64_t response_ns[RING];
};

int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void sleep_until(int64_t ns)
{
	struct timespec until = {
		.tv_sec = ns / NS_PER_S,
		.tv_nsec = ns % NS_PER_S,
	};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

void work(int64_t cpu_ns)
{
	int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* A request every period, each of as much work; none is skipped. */
static _Noreturn void probe(int64_t work_ns, int64_t period_ns)
{
	int fd = open(PROBED, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct probed *probed;
	int64_t next;

	if (fd < 0 || ftruncate(fd, sizeof(*probed)))
		fail(PROBED);
	probed = mmap(NULL, sizeof(*probed), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_POPULATE, fd, 0);
	if (probed == MAP_FAILED)
		fail(PROBED);
	next = clock_ns(CLOCK_MONOTONIC);
	for (;;) {
		next += period_ns;
		sleep_until(next);
		work(work_ns);
		probed->response_ns[probed->count % RING] =
			clock_ns(CLOCK_MONOTONIC) - next;
		probed->count++;
	}
}

static void carry_out(char *order)
{
	char *words[MAX_WORDS + 1] = {strtok(order, " \n")};
	int count = 0;

	while (words[count] && count < MAX_WORDS - 1)
		words[++count] = strtok(NULL, " \n");
	if (!words[0] || fork())
		return;
	signal(SIGCHLD, SIG_DFL);
	if (!freopen(SAID, "w", stdout))
		fail(SAID);
	attack(words);
}

/* An order is one line; each is carried out by a process of its own. */
static _Noreturn void obey(void)
{
	char order[512];
	FILE *orders;

	signal(SIGCHLD, SIG_IGN);
	unlink(ORDERS);
	if (mkfifo(ORDERS, 0600))
		fail(ORDERS);
	/* For writing too, so that it never ends. */
	orders = fopen(ORDERS, "r+");
	if (!orders)
		fail(ORDERS);
	while (fgets(order, sizeof(order), orders))
		carry_out(order);
	fail(ORDERS);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "probe"))
		probe(atoll(argv[2]) * NS_PER_US, atoll(argv[3]) * NS_PER_US);
	if (argc == 2 && !strcmp(argv[1], "obey"))
		obey();
	fputs("usage: tenant probe WORK_US PERIOD_US\n"
	      "       tenant obey\n", stderr);
	return 2;
}
