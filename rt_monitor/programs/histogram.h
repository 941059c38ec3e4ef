/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histograms of times; rt_monitor/histogram.py reads them. */
#ifndef NOVA_RT_HISTOGRAM_H
#define NOVA_RT_HISTOGRAM_H

#define BUCKETS 1024
/* Buckets per octave, and width of the first buckets in ns, as powers of 2. */
#define OCTAVE 5
#define UNIT 4

struct histogram {
	u64 counts[BUCKETS];
	u64 sum_ns;
};

static __always_inline u32 bucket_of(u64 ns)
{
	u64 left = ns >> UNIT;
	u32 octave = 0, found;

	/* The logarithm by bisection, because BPF has no instruction for it. */
	if (left >> 36)
		return BUCKETS - 1;
	if (left >> (OCTAVE + 16)) { octave += 16; left >>= 16; }
	if (left >> (OCTAVE + 8)) { octave += 8; left >>= 8; }
	if (left >> (OCTAVE + 4)) { octave += 4; left >>= 4; }
	if (left >> (OCTAVE + 2)) { octave += 2; left >>= 2; }
	if (left >> (OCTAVE + 1)) { octave += 1; left >>= 1; }
	/* Below the first octave, a bucket is one unit wide. */
	found = (octave << OCTAVE) + (u32)left;
	/*
	 * The compiler knows that the number is in bounds already.  Without
	 * this line, it would drop the bound, which the verifier needs.
	 */
	asm volatile("%0 &= 1023" : "+r"(found));
	return found;
}

static __always_inline void record(struct histogram *into, u64 ns)
{
	if (!into)
		return;
	__sync_fetch_and_add(&into->counts[bucket_of(ns)], 1);
	__sync_fetch_and_add(&into->sum_ns, ns);
}

#endif
