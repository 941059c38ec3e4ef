// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts requests of HTTP/1 in clear text by method, path and status, from the
 * packets at the interfaces of servers.
 *
 * The program is loaded only if the operator enables it.  Until an exchange is
 * over, it keeps the first 64 bytes of the line of the request and the first
 * 12 bytes of the answer.  It shows only the template of the path.
 */
#include "kernel.h"
#include "histogram.h"
#include "http.h"
#include "lanes.h"
#include "packet.h"
#include "places.h"

/* Beside its places, a server has one key for the rest in each role. */
#define EXCHANGES (SERVERS * (PLACES + 2))
/* In ns: a kind of exchanges that came more recently keeps its place. */
#define IDLE_EXCHANGE 60000000000ULL
/* The bytes of a packet in which the end of a request's header is searched. */
#define HEADER 2048
#define END_OF_HEADER 0x0d0a0d0a

enum role { SERVER = 1, CLIENT };
enum phase { IDLE, ASKED, ANSWERED, GIVEN_UP };

struct talk {
	u8 asks;	/* direction of requests, plus 1; 0: not known yet */
	u8 phase;
	u8 headed;	/* whether the whole header was seen */
	u8 filled, got;	/* bytes of the lines of request and answer */
	struct seen seen;
	u32 window;	/* the last bytes that were searched */
	u64 begun, last;
	u8 line[ROOM];
	u8 status[ROOM];
};

struct exchange_key {
	u32 server;
	u8 role, method, class, spare;
	u8 path[LINE];	/* zeros: not a path */
};

/* Exchanges of one kind; place: NO_PLACE for the rest of a role. */
struct exchange {
	u64 begun;
	u64 place;
	struct histogram took;
};

/* The places of a server, and the keys of the exchanges that have them. */
struct kinds {
	u64 used[PLACES];
	struct exchange_key keys[PLACES];
};

struct stats {
	u64 beyond;	/* exchanges for which the server had no place */
	u64 unclear;	/* connections whose answers cannot be told apart */
};

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, TAPS);
	__type(key, u32);
	__type(value, u32);
} taps SEC(".maps");

struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, CONNECTIONS);
	__type(key, struct connection);
	__type(value, struct talk);
} talks SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, NO_PREALLOC);
	__uint(max_entries, EXCHANGES);
	__type(key, struct exchange_key);
	__type(value, struct exchange);
} exchanges SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, SERVERS);
	__type(key, u32);
	__type(value, struct kinds);
} kinds SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, SERVERS);
	__type(key, u32);
	__type(value, struct stats);
} stats SEC(".maps");

/* Empty values that are too large for the stack; they are only read. */
struct blank {
	struct exchange exchange;
	struct talk talk;
};

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct blank);
} blank SEC(".maps");

static __always_inline struct stats *stats_of(u32 server)
{
	return bpf_map_lookup_elem(&stats, &server);
}

static __always_inline struct blank *nothing(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&blank, &zero);
}

/* Returns the exchanges of a key, which may be new, or 0. */
static __always_inline struct exchange *
exchange_of(struct exchange_key *key, u64 place)
{
	struct exchange *found = bpf_map_lookup_elem(&exchanges, key);
	struct blank *empty = nothing();

	if (found || !empty)
		return found;
	bpf_map_update_elem(&exchanges, key, &empty->exchange, NEW);
	found = bpf_map_lookup_elem(&exchanges, key);
	if (found && !found->begun) {
		found->begun = bpf_ktime_get_ns();
		found->place = place;
	}
	return found;
}

/* Returns exchanges that have a place, or 0 if there is none for them. */
static __always_inline struct exchange *placed(struct exchange_key *key)
{
	struct exchange *found = bpf_map_lookup_elem(&exchanges, key);
	u32 server = key->server;
	struct kinds *of = bpf_map_lookup_elem(&kinds, &server);
	u64 now = bpf_ktime_get_ns(), place;
	bool was = 0;

	if (!of)
		return 0;
	if (found) {
		place = found->place;
		BOUND(place, 63);
		of->used[place] = now;
		return found;
	}
	place = take_place(of->used, IDLE_EXCHANGE, now, &was);
	if (place >= PLACES)
		return 0;
	if (was)
		bpf_map_delete_elem(&exchanges, &of->keys[place]);
	of->keys[place] = *key;
	found = exchange_of(key, place);
	if (!found || found->place != place)
		of->used[place] = 0;
	return found;
}

static __always_inline void count(struct exchange_key *key, u64 took)
{
	struct stats *into = stats_of(key->server);
	struct exchange *found = placed(key);

	if (!found && into) {
		__sync_fetch_and_add(&into->beyond, 1);
		key->method = key->class = 0;
		__builtin_memset(key->path, 0, sizeof(key->path));
		found = exchange_of(key, NO_PLACE);
	}
	if (found)
		record(&found->took, took);
}

/* Ends an exchange that was answered. */
static __always_inline void finish(struct talk *talk, u32 server)
{
	struct exchange_key key;
	u32 length, status;
	u8 method;

	if (talk->phase != ANSWERED)
		return;
	talk->phase = IDLE;
	method = method_of(talk->line, &length);
	status = talk->got >= STATUS ? status_of(talk->status) : 0;
	if (method == NONE || !status)
		return;
	__builtin_memset(&key, 0, sizeof(key));
	key.server = server;
	key.role = talk->asks == TO_GUEST + 1 ? SERVER : CLIENT;
	key.method = method;
	key.class = status / 100;
	template_of(talk->line, length, key.path);
	count(&key, talk->last > talk->begun ? talk->last - talk->begun : 0);
}

static __always_inline void give_up(struct talk *talk, u32 server)
{
	struct stats *into = stats_of(server);

	if (into)
		__sync_fetch_and_add(&into->unclear, 1);
	talk->phase = GIVEN_UP;
}

/* Appends the payload of a packet to a line; returns the line's new length. */
static __always_inline u32 append(struct __sk_buff *skb, u8 *line, u32 filled,
				  u32 most, u32 at, u32 bytes)
{
	u32 room;

	if (filled >= most)
		return filled;
	room = most - filled;
	if (bytes > room)
		bytes = room;
	BOUND(filled, 63);
	BOUND(bytes, 127);
	if (!bytes || bytes > LINE ||
	    bpf_skb_load_bytes(skb, at, line + filled, bytes))
		return most;
	return filled + bytes;
}

/* Returns whether a request begins at this place of a packet. */
static __always_inline bool asks_at(struct __sk_buff *skb, u32 at)
{
	u8 word[8];
	u32 length;

	return !bpf_skb_load_bytes(skb, at, word, sizeof(word)) &&
	       method_of(word, &length) != NONE;
}

/* A search for the end of a header. */
struct search {
	struct __sk_buff *skb;
	u32 at, bytes;
	u32 window;	/* the last bytes that were searched */
	u32 end;	/* the place after the header; 0: not found yet */
};

/* Searches a part of a packet; returns 1 to end the search. */
static long look_through(u32 part, struct search *search)
{
	u32 done = part * LINE, size, window = search->window;
	u8 bytes[LINE];

	if (done >= search->bytes)
		return 1;
	size = search->bytes - done;
	if (size > LINE)
		size = LINE;
	BOUND(size, 127);
	if (!size || size > LINE ||
	    bpf_skb_load_bytes(search->skb, search->at + done, bytes, size))
		return 1;
	for (u32 each = 0; each < LINE && each < size; each++) {
		window = window << 8 | bytes[each];
		if (window != END_OF_HEADER)
			continue;
		search->end = search->at + done + each + 1;
		return 1;
	}
	search->window = window;
	return 0;
}

/* Searches the end of the header; returns whether another request follows. */
static __always_inline bool followed(struct __sk_buff *skb, struct talk *talk,
				     u32 at, u32 bytes)
{
	struct search search = {
		.skb = skb, .at = at, .bytes = bytes, .window = talk->window
	};

	bpf_loop(HEADER / LINE, look_through, &search, 0);
	talk->window = search.window;
	if (!search.end)
		return 0;
	talk->headed = 1;
	return asks_at(skb, search.end);
}

static __always_inline void spoil(u8 *line)
{
	line[0] = 0;
}

static __always_inline void ask(struct __sk_buff *skb, struct talk *talk,
				u32 server, u32 at, u32 bytes, bool missing)
{
	bool begins;
	u32 length;

	finish(talk, server);
	begins = talk->phase == IDLE;
	if (begins) {
		talk->phase = ASKED;
		talk->begun = bpf_ktime_get_ns();
		talk->filled = talk->got = talk->headed = 0;
		talk->window = 0;
		__builtin_memset(talk->line, 0, LINE);
	} else if (has_ended(talk->line, talk->filled) &&
		   asks_at(skb, at)) {
		give_up(talk, server);
		return;
	}
	if (!has_ended(talk->line, talk->filled)) {
		talk->filled = append(skb, talk->line, talk->filled, LINE,
				      at, bytes);
		if (missing)
			spoil(talk->line);
	}
	if (!talk->headed && method_of(talk->line, &length) != NONE &&
	    followed(skb, talk, at, bytes))
		give_up(talk, server);
}

static __always_inline void answer(struct __sk_buff *skb, struct talk *talk,
				   u32 server, u32 at, u32 bytes,
				   bool missing)
{
	u32 status;

	if (talk->phase == IDLE)
		return;
	if (talk->phase == ASKED) {
		talk->phase = ANSWERED;
		talk->got = 0;
	}
	talk->last = bpf_ktime_get_ns();
	if (talk->got >= STATUS)
		return;
	talk->got = append(skb, talk->status, talk->got, STATUS, at, bytes);
	if (missing)
		spoil(talk->status);
	if (talk->got < STATUS)
		return;
	status = status_of(talk->status);
	if (status == SWITCHED) {
		finish(talk, server);
		talk->phase = GIVEN_UP;
	} else if (status && status < 200) {
		talk->phase = ASKED;	/* the final answer is still to come */
	}
}

static __always_inline struct talk *talk_of(struct connection *key, u8 flags,
					    enum way way)
{
	struct talk *found = bpf_map_lookup_elem(&talks, key);
	struct blank *empty = nothing();

	if ((found && !(flags & SYN && !(flags & ACK))) || !empty)
		return found;
	bpf_map_update_elem(&talks, key, &empty->talk, ANY);
	found = bpf_map_lookup_elem(&talks, key);
	if (found && flags & SYN)
		found->asks = (flags & ACK ? !way : way) + 1;
	return found;
}

static __always_inline void hear(struct __sk_buff *skb, struct talk *talk,
				 struct packet *packet, enum way way,
				 u32 sequence)
{
	u32 all = carried(packet), bytes, at;
	bool missing = talk->seen.known[way] &&
		       (s32)(sequence - talk->seen.next[way]) > 0;

	bytes = fresh(&talk->seen, way, sequence, all);
	at = packet->at + all - bytes;
	if (!bytes || talk->phase == GIVEN_UP)
		return;
	/* In an older connection, the end that sends a method is the client. */
	if (!talk->asks && asks_at(skb, at))
		talk->asks = way + 1;
	if (talk->asks == way + 1)
		ask(skb, talk, packet->key.server, at, bytes, missing);
	else if (talk->asks)
		answer(skb, talk, packet->key.server, at, bytes, missing);
}

static __always_inline int see(struct __sk_buff *skb, enum way way)
{
	struct packet packet = {};
	u32 index = skb->ifindex;
	u32 *server = bpf_map_lookup_elem(&taps, &index);
	struct talk *talk;
	struct tcp tcp;

	if (!server || !read_packet(skb, &packet, way) ||
	    packet.protocol != TCP || !read_tcp(skb, &packet, way, &tcp))
		return PASS;
	packet.key.server = *server;
	if (!carried(&packet) && !(tcp.flags & (SYN | FIN | RST)))
		return PASS;
	talk = talk_of(&packet.key, tcp.flags, way);
	if (!talk)
		return PASS;
	if (carried(&packet))
		hear(skb, talk, &packet, way,
		     __builtin_bswap32(tcp.sequence));
	/* The FIN of a client does not end the exchange: it waits for an answer. */
	if (tcp.flags & RST || (tcp.flags & FIN && talk->asks != way + 1))
		finish(talk, packet.key.server);
	if (tcp.flags & RST)
		bpf_map_delete_elem(&talks, &packet.key);
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
