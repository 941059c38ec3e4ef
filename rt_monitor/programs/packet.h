/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads packets at the network interface of a server on this host. */
#ifndef NOVA_RT_PACKET_H
#define NOVA_RT_PACKET_H

#include "kernel.h"

#define TAPS 1024
#define CONNECTIONS 16384

#define PASS (-1)	/* TCX_NEXT: continue with the next program */
#define ETHERNET 14
#define IPV4 0x0008	/* in network byte order */
#define IPV6 0xdd86
#define FRAGMENT 0xff1f	/* any but the first fragment; network byte order */

enum flag { FIN = 1, SYN = 2, RST = 4, ACK = 16 };
enum way { FROM_GUEST, TO_GUEST };

/* The argument of a program, from the kernel's interface to user space. */
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
	u8 version;	/* and the length of the header in words */
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
	u8 words;	/* length of the header, in the upper half */
	u8 flags;
};

struct connection {
	u32 server;
	u16 inside, outside;	/* ports */
	u8 peer[16];
};

/* The parts of a packet that matter here. */
struct packet {
	struct connection key;
	u32 at;		/* the place that is read next */
	u32 end;
	u8 protocol;
};

/* How far the bytes of a connection were seen, by direction. */
struct seen {
	u8 known[2];
	u32 next[2];	/* the first byte that was not seen yet */
};

/* Returns how many bytes of a packet were not seen before. */
static __always_inline u32 fresh(struct seen *seen, enum way way, u32 from,
				 u32 bytes)
{
	u32 to = from + bytes;

	if (seen->known[way]) {
		if ((s32)(to - seen->next[way]) <= 0)
			return 0;
		if ((s32)(from - seen->next[way]) < 0)
			bytes = to - seen->next[way];
	}
	seen->known[way] = 1;
	seen->next[way] = to;
	return bytes;
}

/* Reads the headers before TCP or UDP; returns whether they are complete. */
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
	/*
	 * Short packets are padded, so the length is read from the header.  It
	 * is 0 in packets that are too large for the field.
	 */
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

static __always_inline bool read_packet(struct __sk_buff *skb,
					struct packet *packet, enum way way)
{
	if ((u16)skb->protocol == IPV4)
		return read_ipv4(skb, packet, way);
	if ((u16)skb->protocol == IPV6)
		return read_ipv6(skb, packet, way);
	return 0;
}

/* Reads the header of TCP and advances to the payload. */
static __always_inline bool read_tcp(struct __sk_buff *skb,
				     struct packet *packet, enum way way,
				     struct tcp *tcp)
{
	if (bpf_skb_load_bytes(skb, packet->at, tcp, 14))
		return 0;
	packet->at += (tcp->words >> 4) * 4;
	packet->key.inside = __builtin_bswap16(
		way == FROM_GUEST ? tcp->source : tcp->target);
	packet->key.outside = __builtin_bswap16(
		way == FROM_GUEST ? tcp->target : tcp->source);
	return 1;
}

static __always_inline u32 carried(struct packet *packet)
{
	return packet->end > packet->at ? packet->end - packet->at : 0;
}

#endif
