// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests and answers of virtual machines, by the packets at their taps,
 * since their sockets are in the guest; and datagrams of all servers.
 *
 * What a machine sends enters the host at its tap, and what it gets leaves
 * the host there.  A packet that is sent again is not counted again.
 */
#include "kernel.h"
#include "edges.h"

#define TAPS 1024
#define CONNECTIONS 16384

#define PASS (-1)	/* TCX_NEXT: to whoever else looks at packets */
#define ETHERNET 14
#define IPV4 0x0008	/* as the network orders it */
#define IPV6 0xdd86
#define FRAGMENT 0xff1f	/* any but the first of a datagram; so ordered */

enum flag { FIN = 1, SYN = 2, RST = 4, ACK = 16 };
enum way { FROM_GUEST, TO_GUEST };

/* What a program is given; of the interface of the kernel. */
struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;
	u32 vlan_present;
	u32 vlan_tci;
	u32 vlan_proto;
	u32 priority;
	u32 ingress_ifindex;
	u32 ifindex;
};

struct ipv4 {
	u8 version;	/* and words of the header */
	u8 service;
	__be16 length;
	__be16 number;
	__be16 fragment;
	u8 life;
	u8 protocol;
	u16 check;
	__be32 source, target;
};

struct ipv6 {
	u32 version;
	__be16 length;
	u8 next;
	u8 life;
	u8 source[16], target[16];
};

struct tcp {
	__be16 source, target;
	__be32 sequence, acknowledged;
	u8 words;	/* of the header, in the upper half */
	u8 flags;
};

/* Whose an interface is. */
struct tap {
	u32 server;
	u32 machine;	/* its sockets are in the guest */
};

struct connection {
	u32 server;
	u16 inside, outside;	/* ports */
	u8 peer[16];
};

struct flow {
	u8 role, phase, known[2];
	/* By way: the next byte that was not yet seen. */
	u32 next[2];
	u64 begun, first, last;
	/* By way, not yet added to an edge. */
	u64 bytes[2];
};

struct datagrams {
	u64 count[2];	/* by way */
	u64 bytes[2];
};

/* A packet, as far as it matters. */
struct packet {
	struct connection key;
	u32 at;		/* of what is next to be read */
	u32 end;
	u8 protocol;
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
	u32 server = of->server;
	struct edge_key key;
	struct edge *edge;
	struct parts *parts_of;

	if (!flow->bytes[FROM_GUEST] && !flow->bytes[TO_GUEST])
		return;
	__builtin_memset(&key, 0, sizeof(key));
	key.server = server;
	key.role = flow->role;
	key.port = flow->role == SERVER ? of->inside : of->outside;
	__builtin_memcpy(key.peer, of->peer, sizeof(key.peer));
	edge = edge_of(&key);
	if (!edge)
		return;
	__sync_fetch_and_add(&edge->in, flow->bytes[TO_GUEST]);
	__sync_fetch_and_add(&edge->out, flow->bytes[FROM_GUEST]);
	flow->bytes[FROM_GUEST] = flow->bytes[TO_GUEST] = 0;
	if (flow->phase != ANSWER)
		return;
	flow->phase = IDLE;
	record(&edge->took, between(flow->begun, flow->last));
	parts_of = bpf_map_lookup_elem(&parts, &server);
	if (flow->role == SERVER && parts_of)
		record(&parts_of->first, between(flow->begun, flow->first));
}

static __always_inline void pass_on(struct flow *flow, struct connection *of,
				    enum way way, u32 bytes)
{
	u8 asks = way == TO_GUEST ? SERVER : CLIENT;

	if (flow->role == UNKNOWN)
		flow->role = asks;
	if (flow->role == asks) {
		if (flow->phase == ANSWER)
			finish(flow, of);
		if (flow->phase != REQUEST) {
			flow->phase = REQUEST;
			flow->begun = bpf_ktime_get_ns();
		}
	} else if (flow->phase != IDLE) {
		flow->last = bpf_ktime_get_ns();
		if (flow->phase == REQUEST)
			flow->first = flow->last;
		flow->phase = ANSWER;
	}
	flow->bytes[way] += bytes;
}

/* Of the bytes of a packet, those that were not seen before. */
static __always_inline u32 fresh(struct flow *flow, enum way way, u32 from,
				 u32 bytes)
{
	u32 to = from + bytes;

	if (flow->known[way]) {
		if ((s32)(to - flow->next[way]) <= 0)
			return 0;
		if ((s32)(from - flow->next[way]) < 0)
			bytes = to - flow->next[way];
	}
	flow->known[way] = 1;
	flow->next[way] = to;
	return bytes;
}

static __always_inline struct flow *flow_of(struct connection *key, u8 flags,
					    enum way way)
{
	struct flow *found = bpf_map_lookup_elem(&connections, key);
	struct flow new = {};
	struct stats *counted;
	u32 zero = 0;

	if (flags & SYN) {
		/* The first asks to be connected, with the second it is. */
		if (found && flags & ACK)
			return found;
		new.role = (way == TO_GUEST) == !(flags & ACK) ?
			   SERVER : CLIENT;
	} else if (found) {
		return found;
	} else {
		counted = bpf_map_lookup_elem(&stats, &zero);
		if (counted)
			__sync_fetch_and_add(&counted->late, 1);
	}
	bpf_map_update_elem(&connections, key, &new, ANY);
	return bpf_map_lookup_elem(&connections, key);
}

static __always_inline void see_tcp(struct __sk_buff *skb,
				    struct packet *packet, enum way way)
{
	struct flow *flow;
	struct tcp tcp;
	u32 size, bytes;

	if (bpf_skb_load_bytes(skb, packet->at, &tcp, 14))
		return;
	size = packet->at + (tcp.words >> 4) * 4;
	bytes = packet->end > size ? packet->end - size : 0;
	if (!bytes && !(tcp.flags & (SYN | FIN | RST)))
		return;		/* an acknowledgement alone */
	packet->key.inside = __builtin_bswap16(
		way == FROM_GUEST ? tcp.source : tcp.target);
	packet->key.outside = __builtin_bswap16(
		way == FROM_GUEST ? tcp.target : tcp.source);
	flow = flow_of(&packet->key, tcp.flags, way);
	if (!flow)
		return;
	bytes = bytes ? fresh(flow, way, __builtin_bswap32(tcp.sequence),
			      bytes) : 0;
	if (bytes)
		pass_on(flow, &packet->key, way, bytes);
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

/* Reads what is before TCP or UDP; whether that is there. */
static __always_inline bool read_ipv4(struct __sk_buff *skb,
				      struct packet *packet, enum way way)
{
	u32 address, length;
	struct ipv4 ip;

	if (bpf_skb_load_bytes(skb, ETHERNET, &ip, sizeof(ip)) ||
	    ip.fragment & FRAGMENT)
		return 0;
	address = way == FROM_GUEST ? ip.target : ip.source;
	packet->key.peer[10] = packet->key.peer[11] = 0xff;
	__builtin_memcpy(&packet->key.peer[12], &address, sizeof(address));
	packet->protocol = ip.protocol;
	packet->at = ETHERNET + (ip.version & 15) * 4;
	/* Short packets are padded; too large ones say no length. */
	length = __builtin_bswap16(ip.length);
	packet->end = length ? ETHERNET + length : skb->len;
	return 1;
}

static __always_inline bool read_ipv6(struct __sk_buff *skb,
				      struct packet *packet, enum way way)
{
	struct ipv6 ip;
	u32 length;

	if (bpf_skb_load_bytes(skb, ETHERNET, &ip, sizeof(ip)))
		return 0;
	__builtin_memcpy(packet->key.peer,
			 way == FROM_GUEST ? ip.target : ip.source,
			 sizeof(packet->key.peer));
	packet->protocol = ip.next;
	packet->at = ETHERNET + sizeof(ip);
	length = __builtin_bswap16(ip.length);
	packet->end = length ? packet->at + length : skb->len;
	return 1;
}

static __always_inline int see(struct __sk_buff *skb, enum way way)
{
	struct packet packet = {};
	u32 index = skb->ifindex;
	struct tap *tap = bpf_map_lookup_elem(&taps, &index);
	bool known = 0;

	if (!tap)
		return PASS;
	packet.key.server = tap->server;
	if ((u16)skb->protocol == IPV4)
		known = read_ipv4(skb, &packet, way);
	else if ((u16)skb->protocol == IPV6)
		known = read_ipv6(skb, &packet, way);
	if (!known)
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
