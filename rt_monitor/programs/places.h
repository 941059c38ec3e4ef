/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A bounded number of places for each server, so that no server takes the
 * places of others.  A new key takes the place that was used least recently, if that
 * place was not used for a while.
 */
#ifndef NOVA_RT_PLACES_H
#define NOVA_RT_PLACES_H

#include "kernel.h"

/* The number of places of each server. */
#define PLACES 64
#define NO_PLACE PLACES

struct oldest {
	u64 *used;	/* when each place was used; 0: free */
	u64 when;
	u32 place;
};

static long compare(u32 place, struct oldest *oldest)
{
	u64 when;

	if (place >= PLACES)
		return 1;
	when = oldest->used[place];
	if (when >= oldest->when)
		return 0;
	oldest->when = when;
	oldest->place = place;
	return !when;
}

/*
 * Takes a place for a new key; was: whether another key had it.  Returns
 * NO_PLACE if all places were used within the last idle ns.
 */
static __always_inline u32 take_place(u64 *used, u64 idle, u64 now, bool *was)
{
	struct oldest oldest = { .used = used, .when = ~0ULL };
	u32 place;

	bpf_loop(PLACES, compare, &oldest, 0);
	place = oldest.place;
	asm volatile("%0 &= 63" : "+r"(place));
	if (oldest.when && oldest.when + idle > now)
		return NO_PLACE;
	/* Another CPU may have taken the place in the meantime. */
	if (__sync_val_compare_and_swap(&used[place], oldest.when, now) !=
	    oldest.when)
		return NO_PLACE;
	*was = oldest.when != 0;
	return place;
}

#endif
