// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts requests and answers of virtual machines from the packets at their
 * taps, because their sockets are in the guest.  Also counts the datagrams of
 * all servers.
 *
 * A packet that a machine sends enters the host at its tap, and a packet to the
 * machine leaves the host there.  A retransmitted packet is counted once.
 */
#include "kernel.h"
#include "edges.h"
#include "packet.h"

/* The server of an interface. */
struct tap {
	u32 server;
	u32 machine;	/* whether its sockets are in the guest */
};

struct flow {
	u8 role, phase, speech;
	u8 turns;	/* transactions, not beyond 255 */
	struct seen seen;
	u64 begun, first, last;
	/* Bytes by direction that are not yet added to an edge. */
	u64 bytes[2];
};

struct datagrams {
	u64 count[2];	/* by direction */
	u64 bytes[2];
};

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, TAPS);
	__type(key, u32);
	__type(value, struct tap);
} taps SEC(".maps");

struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, CONNECTIONS);
	__type(key, struct connection);
	__type(value, struct flow);
} connections SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, SERVERS);
	__type(key, u32);
	__type(value, struct datagrams);
} datagrams SEC(".maps");

static __always_inline void finish(struct flow *flow, struct connection *of)
{
	struct exchange exchange = {
		.in = flow->bytes[TO_GUEST], .out = flow->bytes[FROM_GUEST],
		.took = between(flow->begun, flow->last),
		.whole = flow->phase == ANSWER,
		.unclear = flow->speech == UNCLEAR
	};
	struct edge_key key;
	struct sums *sums_of;

	if (!flow->bytes[FROM_GUEST] && !flow->bytes[TO_GUEST])
		return;
	__builtin_memset(&key, 0, sizeof(key));
	key.server = of->server;
	key.role = flow->role;
	key.port = flow->role == SERVER ? of->inside : of->outside;
	__builtin_memcpy(key.peer, of->peer, sizeof(key.peer));
	flow->bytes[FROM_GUEST] = flow->bytes[TO_GUEST] = 0;
	flow->turns = next_turn(flow->turns);
	if (flow->phase == ANSWER)
		flow->phase = IDLE;
	sums_of = count(&key, &exchange, bpf_ktime_get_ns());
	if (sums_of && exchange.whole && !exchange.unclear &&
	    flow->role == SERVER)
		record(&sums_of->first, between(flow->begun, flow->first));
}

/* Judges a packet; returns whether it is an interim answer. */
static __always_inline bool judge(struct __sk_buff *skb, struct flow *flow,
				  bool asks, u32 at, u32 bytes)
{
	struct piece *piece;
	u8 head[HEAD] = {};
	u32 zero = 0;

	if (bytes >= HEAD)
		bpf_skb_load_bytes(skb, at, head, HEAD);
	else if (bytes >= 8)
		bpf_skb_load_bytes(skb, at, head, 8);
	if (!asks)
		return judge_answer(&flow->speech, flow->phase == ANSWER,
				    head);
	judge_request(&flow->speech, flow->phase == REQUEST, head);
	piece = bpf_map_lookup_elem(&pieces, &zero);
	if (flow->speech == UNCLEAR || !is_searched(flow->turns) || !piece ||
	    bytes < HEAD)
		return 0;
	__builtin_memset(piece, 0, sizeof(*piece));
	if (bytes > PIECE)
		bytes = PIECE;
	bpf_skb_load_bytes(skb, at, piece, bytes);
	if (repeats(piece->bytes))
		flow->speech = UNCLEAR;
	return 0;
}

static __always_inline bool is_judged(struct flow *flow, bool asks)
{
	if (flow->speech == UNCLEAR ||
	    (flow->speech == OTHER && !is_searched(flow->turns)))
		return 0;
	return asks ? flow->phase != REQUEST || flow->speech == HTTP :
	       flow->phase != IDLE && flow->speech == HTTP;
}

static __always_inline void pass_on(struct __sk_buff *skb, struct flow *flow,
				    struct packet *packet, enum way way,
				    u32 bytes)
{
	struct connection *of = &packet->key;
	u8 asks = way == TO_GUEST ? SERVER : CLIENT;

	if (flow->role == UNKNOWN)
		flow->role = asks;
	flow->bytes[way] += bytes;
	if (is_judged(flow, flow->role == asks) &&
	    judge(skb, flow, flow->role == asks,
		  packet->at + carried(packet) - bytes, bytes))
		return;		/* the answer is still to come */
	if (flow->role == asks) {
		if (flow->phase == ANSWER) {
			flow->bytes[way] -= bytes;
			finish(flow, of);
			flow->bytes[way] += bytes;
		}
		if (flow->phase != REQUEST) {
			flow->phase = REQUEST;
			flow->begun = bpf_ktime_get_ns();
		}
	} else if (flow->phase != IDLE) {
		flow->last = bpf_ktime_get_ns();
		if (flow->phase == REQUEST) {
			flow->first = flow->last;
			if (flow->role == SERVER)
				count_answer(of->server);
		}
		flow->phase = ANSWER;
	}
}

static __always_inline struct flow *flow_of(struct connection *key, u8 flags,
					    enum way way)
{
	struct flow *found = bpf_map_lookup_elem(&connections, key);
	struct flow new = {};

	if (flags & SYN) {
		/* The first SYN is the client's; the second one has ACK, too. */
		if (found && flags & ACK)
			return found;
		new.role = (way == TO_GUEST) == !(flags & ACK) ?
			   SERVER : CLIENT;
	} else if (found) {
		return found;
	} else {
		count_late(key->server);
	}
	bpf_map_update_elem(&connections, key, &new, ANY);
	return bpf_map_lookup_elem(&connections, key);
}

static __always_inline void see_tcp(struct __sk_buff *skb,
				    struct packet *packet, enum way way)
{
	struct flow *flow;
	struct tcp tcp;
	u32 bytes;

	if (!read_tcp(skb, packet, way, &tcp))
		return;
	bytes = carried(packet);
	if (!bytes && !(tcp.flags & (SYN | FIN | RST)))
		return;		/* only an acknowledgement */
	flow = flow_of(&packet->key, tcp.flags, way);
	if (!flow)
		return;
	bytes = bytes ? fresh(&flow->seen, way,
			      __builtin_bswap32(tcp.sequence), bytes) : 0;
	if (bytes)
		pass_on(skb, flow, packet, way, bytes);
	if (tcp.flags & (FIN | RST))
		finish(flow, &packet->key);
	if (tcp.flags & RST)
		bpf_map_delete_elem(&connections, &packet->key);
}

static __always_inline void see_udp(struct packet *packet, enum way way)
{
	struct datagrams *of = bpf_map_lookup_elem(&datagrams,
						   &packet->key.server);
	u32 header = 8;

	if (!of || packet->end < packet->at + header)
		return;
	__sync_fetch_and_add(&of->count[way], 1);
	__sync_fetch_and_add(&of->bytes[way],
			     packet->end - packet->at - header);
}

static __always_inline int see(struct __sk_buff *skb, enum way way)
{
	struct packet packet = {};
	u32 index = skb->ifindex;
	struct tap *tap = bpf_map_lookup_elem(&taps, &index);

	if (!tap)
		return PASS;
	packet.key.server = tap->server;
	if (!read_packet(skb, &packet, way))
		return PASS;
	if (packet.protocol == TCP && tap->machine)
		see_tcp(skb, &packet, way);
	else if (packet.protocol == UDP)
		see_udp(&packet, way);
	return PASS;
}

SEC("tc")
int from_guest(struct __sk_buff *skb)
{
	return see(skb, FROM_GUEST);
}

SEC("tc")
int to_guest(struct __sk_buff *skb)
{
	return see(skb, TO_GUEST);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
