/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loads of benchmarks/monitor.py: small relatives of EP (only computes),
 * CG (multiplies a sparse matrix of the size of its class W) and MG (walks
 * through much memory) of the NAS Parallel Benchmarks.
 *
 * usage: loads ep|cg|mg
 * For each byte that the program reads, it makes the same computation of about
 * 5 ms, and prints the CPU time in ns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORDS (1 << 21)
#define ROWS 7000
#define ENTRIES 81

static double ep(void)
{
	unsigned long long seed = 271828183, inside = 0;

	for (int i = 0; i < 4500000; i++) {
		double x, y;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		x = (double)(seed >> 32) / 4294967296.0;
		y = (double)(seed & 0xffffffff) / 4294967296.0;
		inside += x * x + y * y < 1;
	}
	return inside;
}

static double cg(double *from, double *to)
{
	static unsigned int column[ROWS * ENTRIES];

	if (!column[1])
		for (unsigned int i = 0, at = 12345; i < ROWS * ENTRIES; i++) {
			at = at * 1664525 + 1013904223;
			column[i] = (at >> 8) % ROWS;
		}
	for (int round = 0; round < 24; round++)
		for (int row = 0; row < ROWS; row++) {
			double sum = 0;

			for (int i = 0; i < ENTRIES; i++)
				sum += from[row * ENTRIES + i] *
				       from[column[row * ENTRIES + i]];
			to[row] = sum;
		}
	return to[ROWS / 2];
}

static double mg(double *from, double *to)
{
	for (int round = 0; round < 6; round++)
		for (int i = 1; i < WORDS - 1; i++)
			to[i] = 0.25 * from[i - 1] + 0.5 * from[i] +
				0.25 * from[i + 1] + 0.001 * to[i];
	return to[WORDS / 2];
}

static long long used_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000000000LL + used.tv_nsec;
}

int main(int argc, char **argv)
{
	double *from = calloc(WORDS, sizeof(*from));
	double *to = calloc(WORDS, sizeof(*to));
	char asked;

	if (argc != 2 || !from || !to)
		return 2;
	for (int i = 0; i < WORDS; i++)
		from[i] = i;
	while (read(0, &asked, 1) == 1) {
		long long begun = used_ns();
		double found = !strcmp(argv[1], "ep") ? ep() :
			!strcmp(argv[1], "cg") ? cg(from, to) : mg(from, to);

		/* The result is used, so that the compiler cannot omit the work. */
		printf("%lld%s\n", used_ns() - begun,
		       found == 0.125 ? " " : "");
		fflush(stdout);
	}
	return 0;
}
