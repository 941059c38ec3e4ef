/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Transactions of servers with their peers; transactions.py reads the maps. */
#ifndef NOVA_RT_EDGES_H
#define NOVA_RT_EDGES_H

#include "kernel.h"
#include "histogram.h"
#include "lanes.h"
#include "places.h"
#include "protocols.h"

#define EDGES (SERVERS * PLACES)
/* In ns: an edge that was used more recently keeps its place. */
#define IDLE_EDGE 10000000000ULL
/* In ns: how often a place is marked as used. */
#define MARK 1000000000ULL

enum role { UNKNOWN, SERVER, CLIENT };
enum phase { IDLE, REQUEST, ANSWER };

/* A server and a peer; the port is that of the service. */
struct edge_key {
	u32 server;
	u16 role;
	u16 port;
	u8 peer[16];
};

/* What passed; unclear: exchanges that are not one request and its answer. */
struct traffic {
	u64 in, out, unclear;
	struct histogram took;
};

struct edge {
	u64 begun;
	u64 place;
	u64 used;	/* when its place was last marked as used */
	struct traffic traffic;
};

/* All transactions of a server, whether they have an edge or not. */
struct sums {
	struct traffic server, client;	/* by the role of the server */
	/* Times of transactions in the role of the server. */
	struct histogram waiting;
	struct histogram first;
	u64 late;	/* connections that are older than the programs */
	u64 beyond;	/* transactions that have no edge */
	u64 answers;	/* that the server has begun */
};

/* The places of a server, and the keys of the edges that have them. */
struct peers {
	u64 used[PLACES];
	struct edge_key keys[PLACES];
};

struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, NO_PREALLOC);
	__uint(max_entries, EDGES);
	__type(key, struct edge_key);
	__type(value, struct edge);
} edges SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, SERVERS);
	__type(key, u32);
	__type(value, struct peers);
} peers SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, SERVERS);
	__type(key, u32);
	__type(value, struct sums);
} sums SEC(".maps");

/* The beginning of a request, in which a second one is searched. */
struct piece {
	u8 bytes[PIECE];
};

struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct piece);
} pieces SEC(".maps");

/* An empty edge, from which new edges are copied; too large for the stack. */
struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct edge);
} blank SEC(".maps");

static __always_inline u64 between(u64 from, u64 to)
{
	return from && to > from ? to - from : 0;
}

/* Returns a new edge, or 0 if the server has no place for it. */
static __always_inline struct edge *new_edge(struct edge_key *key,
					     struct peers *of, u64 now)
{
	struct edge_key old;
	struct edge *empty, *found;
	bool was = 0;
	u32 zero = 0, place = take_place(of->used, IDLE_EDGE, now, &was);

	if (place >= PLACES)
		return 0;
	if (was) {
		old = of->keys[place];
		bpf_map_delete_elem(&edges, &old);
	}
	of->keys[place] = *key;
	empty = bpf_map_lookup_elem(&blank, &zero);
	if (!empty || bpf_map_update_elem(&edges, key, empty, NEW))
		of->used[place] = 0;
	found = bpf_map_lookup_elem(&edges, key);
	if (found && !found->begun) {
		found->begun = now;
		found->place = place;
	}
	return found;
}

/* Returns the edge of a key, or 0 if the server has no place for it. */
static __always_inline struct edge *edge_of(struct edge_key *key, u64 now)
{
	struct edge *found = bpf_map_lookup_elem(&edges, key);
	u32 server = key->server;
	u64 place;
	struct peers *of;

	if (found && now < found->used + MARK)
		return found;
	of = bpf_map_lookup_elem(&peers, &server);
	if (!of)
		return 0;
	if (!found)
		return new_edge(key, of, now);
	found->used = now;
	place = found->place;
	asm volatile("%0 &= 63" : "+r"(place));
	of->used[place] = now;
	return found;
}

/* An exchange that is over: its bytes, and whether it was a transaction. */
struct exchange {
	u64 in, out, took;
	bool whole, unclear;
};

static __always_inline void add_to(struct traffic *to, struct exchange *of)
{
	__sync_fetch_and_add(&to->in, of->in);
	__sync_fetch_and_add(&to->out, of->out);
	if (of->unclear)
		__sync_fetch_and_add(&to->unclear, of->whole);
	else if (of->whole)
		record(&to->took, of->took);
}

/*
 * Adds an exchange to the sums of its server, and then to its edge.  A reader
 * reads them the other way round, so that no edge has more than the sums.
 */
static __always_inline struct sums *count(struct edge_key *key,
					  struct exchange *of, u64 now)
{
	u32 server = key->server;
	struct sums *into = bpf_map_lookup_elem(&sums, &server);
	struct edge *edge;

	if (!into)
		return 0;
	add_to(key->role == CLIENT ? &into->client : &into->server, of);
	edge = edge_of(key, now);
	if (edge)
		add_to(&edge->traffic, of);
	else if (of->whole)
		__sync_fetch_and_add(&into->beyond, 1);
	return into;
}

static __always_inline void count_late(u32 server)
{
	struct sums *into = bpf_map_lookup_elem(&sums, &server);

	if (into)
		__sync_fetch_and_add(&into->late, 1);
}

static __always_inline void count_answer(u32 server)
{
	struct sums *into = bpf_map_lookup_elem(&sums, &server);

	if (into)
		__sync_fetch_and_add(&into->answers, 1);
}

#endif
