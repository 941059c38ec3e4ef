/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Transactions of servers with their peers; transactions.py reads the maps. */
#ifndef NOVA_RT_EDGES_H
#define NOVA_RT_EDGES_H

#include "kernel.h"
#include "histogram.h"
#include "lanes.h"

#define EDGES 4096
#define PEERS 64

enum role { UNKNOWN, SERVER, CLIENT };
enum phase { IDLE, REQUEST, ANSWER };

/* A server and a peer; the port is that of the service. */
struct edge_key {
	u32 server;
	u16 role;
	u16 port;
	u8 peer[16];
};

struct edge {
	u64 in, out;
	struct histogram took;
};

/* Times of transactions in the role of the server. */
struct parts {
	struct histogram waiting;
	struct histogram first;
};

struct stats {
	u64 late;	/* connections that are older than the programs */
	u64 beyond;	/* transactions with peers beyond the bounds */
	u64 full;	/* transactions for which there was no room for an edge */
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
	__type(value, u64);
} peers SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, SERVERS);
	__type(key, u32);
	__type(value, struct parts);
} parts SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stats);
} stats SEC(".maps");

/* An empty edge, from which new edges are copied; too large for the stack. */
struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct edge);
} blank SEC(".maps");

static __always_inline struct edge *edge_of(struct edge_key *key)
{
	struct edge *found = bpf_map_lookup_elem(&edges, key), *empty;
	u32 zero = 0, server = key->server;
	struct stats *counted = bpf_map_lookup_elem(&stats, &zero);
	u64 *known = bpf_map_lookup_elem(&peers, &server);

	if (found || !counted || !known)
		return found;
	if (*known >= PEERS) {
		__sync_fetch_and_add(&counted->beyond, 1);
		key->port = 0;
		__builtin_memset(key->peer, 0, sizeof(key->peer));
		found = bpf_map_lookup_elem(&edges, key);
		if (found)
			return found;
	}
	empty = bpf_map_lookup_elem(&blank, &zero);
	if (!empty)
		return 0;
	if (!bpf_map_update_elem(&edges, key, empty, NEW))
		__sync_fetch_and_add(known, 1);
	found = bpf_map_lookup_elem(&edges, key);
	if (!found)
		__sync_fetch_and_add(&counted->full, 1);
	return found;
}

static __always_inline u64 between(u64 from, u64 to)
{
	return from && to > from ? to - from : 0;
}

#endif
