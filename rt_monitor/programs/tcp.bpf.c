// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts requests and answers over TCP, from the direction and time of data.
 *
 * A transaction is data in one direction, the request, and then data in the
 * other direction, the answer.  It ends when the next transaction begins or
 * the connection ends.  At the server a transaction begins when the request
 * arrives, even if it is not read yet; at the client, when the request is sent.
 *
 * A connection on which requests overtake each other, or cannot be told apart,
 * is unclear: its exchanges are counted, but their times are not.
 */
#include "kernel.h"
#include "edges.h"

/* The flag in a TCP header for the end of the data, which has a number. */
#define FIN 1
/* An answer with this many pauses of this many ns is several answers. */
#define PAUSES 4
#define PAUSE 10000000ULL
/* A time that is not known. */
#define SOME_TIME 1

/* The state of a socket.  Accepted sockets inherit that of a listening one. */
struct flow {
	u32 server;
	u8 role, phase;
	u16 port;	/* of the service, kept because a closing socket has none */
	u8 speech;
	u8 pauses;	/* in the present answer */
	u8 known;	/* whether the two numbers below are known */
	u8 turns;	/* transactions, not beyond 255 */
	u32 copied, arrived;	/* the numbers of the next bytes */
	/* Begin, first read by the server, first and last byte of the answer. */
	u64 begun, read, first, last;
	/* Bytes that are not yet added to an edge. */
	u64 in, out;
};

struct {
	__uint(type, MAP_SK_STORAGE);
	__uint(map_flags, NO_PREALLOC | CLONE);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

/* Ports that servers listen on, which tell the roles in older connections. */
struct listener {
	u32 server;
	u32 port;
};

struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, EDGES);
	__type(key, struct listener);
	__type(value, u32);
} listeners SEC(".maps");

/*
 * Ports at which servers listen with MPTCP since before they were watched.  The
 * file of such a server is a socket of MPTCP, and the socket of TCP that really
 * listens is not in any table of files.  So this socket has no flow that the
 * connections could inherit.
 */
struct place {
	u64 net;
	u64 port;
};

struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, EDGES);
	__type(key, struct place);
	__type(value, u32);
} hidden SEC(".maps");

static __always_inline void place_of(struct sock *sk, struct place *place)
{
	place->net = (u64)BPF_CORE_READ(sk, __sk_common.skc_net.net);
	place->port = sk->__sk_common.skc_num;
}

static __always_inline struct flow *flow_of(struct sock *sk)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);

	return flow && flow->server != HOST ? flow : 0;
}

/* Only sockets of TCP have a flow, so the type needs no check. */
static __always_inline struct tcp_sock *tcp_of(struct sock *sk)
{
	if (bpf_rdonly_cast)
		return bpf_rdonly_cast(
			sk, bpf_core_type_id_kernel(struct tcp_sock));
	return bpf_skc_to_tcp_sock(sk);
}

static __always_inline u16 port_of(struct sock *sk, struct flow *flow)
{
	return flow->role == CLIENT ?
	       __builtin_bswap16(sk->__sk_common.skc_dport) :
	       sk->__sk_common.skc_num;
}

static __always_inline void key_of(struct sock *sk, struct flow *flow,
				   struct edge_key *key)
{
	struct sock_common *common = &sk->__sk_common;
	u32 address;

	__builtin_memset(key, 0, sizeof(*key));
	key->server = flow->server;
	key->role = flow->role;
	key->port = flow->port ? flow->port : port_of(sk, flow);
	if (common->skc_family == AF_INET6) {
		bpf_core_read(key->peer, sizeof(key->peer),
			      &common->skc_v6_daddr);
		return;
	}
	/* IPv4 addresses are mapped into IPv6. */
	address = common->skc_daddr;
	key->peer[10] = key->peer[11] = 0xff;
	__builtin_memcpy(&key->peer[12], &address, sizeof(address));
}

/* Adds the bytes of a connection, and a finished transaction. */
static __always_inline void finish(struct sock *sk, struct flow *flow, u64 now)
{
	struct exchange exchange = {
		.in = flow->in, .out = flow->out,
		.took = between(flow->begun, flow->last),
		.whole = flow->phase == ANSWER,
		.unclear = flow->speech == UNCLEAR
	};
	struct edge_key key;
	struct sums *of;

	if (!flow->in && !flow->out)
		return;
	key_of(sk, flow, &key);
	flow->in = flow->out = 0;
	flow->turns = next_turn(flow->turns);
	of = count(&key, &exchange, now);
	if (!of || !exchange.whole || exchange.unclear ||
	    flow->role != SERVER)
		return;
	/* What is spliced, or came with the connection, has no such times. */
	if (flow->read > SOME_TIME)
		record(&of->waiting, between(flow->begun, flow->read));
	record(&of->first, between(flow->begun, flow->first));
}

static __always_inline void begin(struct sock *sk, struct flow *flow, u64 now)
{
	flow->port = port_of(sk, flow);
	flow->phase = REQUEST;
	flow->begun = now;
	flow->pauses = 0;
	flow->read = flow->first = flow->last = 0;
}

/*
 * Handles data in one direction.  If the role of the socket is *asks*, the data
 * belongs to a request, which may begin a new transaction.  Otherwise the data
 * belongs to an answer.
 */
static __always_inline void pass_on(struct sock *sk, struct flow *flow,
				    u8 asks, u64 now)
{
	if (flow->role == asks) {
		if (flow->phase == ANSWER)
			finish(sk, flow, now);
		if (flow->phase != REQUEST)
			begin(sk, flow, now);
	} else if (flow->phase == REQUEST) {
		flow->phase = ANSWER;
		flow->first = flow->last = now;
		if (flow->role == SERVER)
			count_answer(flow->server);
	}
}

/*
 * Notices that an answer goes on after a pause.  An answer with many pauses is
 * several answers, which a server sends without a request for each of them.
 */
static __always_inline void pause_of(struct flow *flow, u64 now, u64 least)
{
	if (flow->phase != ANSWER || now < flow->last + least)
		return;
	if (flow->pauses < PAUSES)
		flow->pauses++;
	else
		flow->speech = UNCLEAR;
}

/* Returns the bytes of a segment after its TCP header. */
static __always_inline u32 payload(struct tcp_skb_cb *segment)
{
	u32 whole = segment->end_seq - segment->seq;

	return whole - (segment->tcp_flags & FIN);
}

/* Reads the numbers of a connection of which nothing was seen yet. */
static __always_inline void know(struct tcp_sock *tcp, struct flow *flow)
{
	if (flow->known)
		return;
	flow->known = 1;
	flow->copied = flow->arrived =
		tcp->rcv_nxt - (u32)tcp->bytes_received;
}

/*
 * Adds the bytes that were read since the last time.  told: the bytes that a
 * call has read; the other bytes were spliced, at an unknown time.
 */
static __always_inline void read_until(struct sock *sk, struct tcp_sock *tcp,
				       struct flow *flow, u32 told)
{
	u32 copied = tcp->copied_seq;
	s32 spliced = copied - flow->copied - told;

	if ((s32)(copied - flow->copied) <= 0)
		return;
	flow->copied = copied;
	flow->in += told;
	/* The end of the data has a number of its own. */
	if (spliced > 0 && copied == tcp->rcv_nxt &&
	    (sk->sk_shutdown & SHUT_IN || spliced == 1))
		spliced--;
	if (spliced <= 0)
		return;
	flow->in += spliced;
	if (flow->role == SERVER && flow->phase == REQUEST && !flow->read)
		flow->read = SOME_TIME;
}

/* Whether the data of a socket is read, because it tells something. */
static __always_inline bool is_read(struct flow *flow, u8 asks)
{
	if (flow->speech == UNCLEAR ||
	    (flow->speech == OTHER && !is_searched(flow->turns)))
		return 0;
	return flow->role == asks ?
	       flow->phase != REQUEST || flow->speech == HTTP :
	       flow->phase != IDLE && flow->speech == HTTP;
}

/* Reads a segment; returns whether it is an interim answer. */
static __always_inline bool judge_segment(struct flow *flow,
					  struct sk_buff *skb, u32 bytes)
{
	u32 header = skb->len - bytes;
	struct bpf_dynptr data;
	struct piece *piece;
	u8 head[HEAD] = {};
	u32 zero = 0;

	if (!bpf_dynptr_from_skb || bpf_dynptr_from_skb(skb, 0, &data))
		return 0;
	if (bytes >= HEAD)
		bpf_dynptr_read(head, HEAD, &data, header, 0);
	else if (bytes >= 8)
		bpf_dynptr_read(head, 8, &data, header, 0);
	if (flow->role != SERVER)
		return judge_answer(&flow->speech, flow->phase == ANSWER, head);
	judge_request(&flow->speech, flow->phase == REQUEST, head);
	if (flow->speech == UNCLEAR || !is_searched(flow->turns) ||
	    bytes < HEAD)
		return 0;
	piece = bpf_map_lookup_elem(&pieces, &zero);
	if (!piece)
		return 0;
	__builtin_memset(piece, 0, sizeof(*piece));
	if (bytes > PIECE)
		bytes = PIECE;
	bpf_dynptr_read(piece, bytes, &data, header, 0);
	if (repeats(piece->bytes))
		flow->speech = UNCLEAR;
	return 0;
}

/* A segment has arrived, and is neither acknowledged nor read yet. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(on_arrival, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_skb_cb *segment = (void *)skb->cb;
	u32 bytes = payload(segment), end;
	struct tcp_sock *tcp;
	struct flow *flow;
	u64 now;

	/* An acknowledgement or a FIN without payload does not count. */
	flow = bytes ? flow_of(sk) : 0;
	if (!flow)
		return 0;
	if (!flow->known) {
		tcp = tcp_of(sk);
		if (!tcp)
			return 0;
		know(tcp, flow);
	}
	end = segment->seq + bytes;
	if ((s32)(end - flow->arrived) <= 0)
		return 0;	/* it has arrived before */
	flow->arrived = end;
	now = bpf_ktime_get_ns();
	if (flow->role == CLIENT && flow->phase == ANSWER &&
	    now > flow->last + PAUSE) {
		tcp = tcp_of(sk);
		if (tcp)
			pause_of(flow, now, PAUSE +
				 (tcp->srtt_us >> 3) * 4000ULL);
	}
	if (is_read(flow, SERVER) && judge_segment(flow, skb, bytes))
		return 0;
	pass_on(sk, flow, SERVER, now);
	/* Data that is spliced is never read by the client itself. */
	if (flow->role == CLIENT && flow->phase == ANSWER)
		flow->last = now;
	return 0;
}

/* Reads the first bytes that a socket is about to send. */
static __always_inline bool first_of(const struct msghdr *message, u8 *head)
{
	u8 type = message->msg_iter.iter_type;
	const struct iovec *vector = message->msg_iter.__iov;
	void *from = 0;

	if (type == bpf_core_enum_value(enum iter_type, ITER_UBUF))
		from = message->msg_iter.ubuf;
	else if (type == bpf_core_enum_value(enum iter_type, ITER_IOVEC))
		bpf_core_read(&from, sizeof(from), &vector->iov_base);
	return from && !bpf_probe_read_user(head, HEAD, from +
					    message->msg_iter.iov_offset);
}

/*
 * Notices what was spliced before data is sent, and whether an answer that goes
 * on has stopped.
 */
static __always_inline bool notice(struct sock *sk, struct flow *flow,
				   bool answers, u64 now)
{
	struct tcp_sock *tcp = tcp_of(sk);

	if (!tcp)
		return 0;
	read_until(sk, tcp, flow, 0);
	/* An answer also stops until the peer has made room. */
	if (answers && tcp->write_seq == tcp->snd_una)
		pause_of(flow, now, PAUSE);
	return 1;
}

/* A socket is about to send data. */
static __always_inline void sends(struct sock *sk, const struct msghdr *message)
{
	struct flow *flow = flow_of(sk);
	u8 head[HEAD] = {};
	bool answers;
	u64 now;

	if (!flow)
		return;
	now = bpf_ktime_get_ns();
	answers = flow->role == SERVER && flow->phase == ANSWER;
	if ((answers || flow->copied != flow->arrived) &&
	    !notice(sk, flow, answers, now))
		return;
	if (is_read(flow, CLIENT) && first_of(message, head)) {
		if (flow->role == CLIENT)
			judge_request(&flow->speech, flow->phase == REQUEST,
				      head);
		else if (judge_answer(&flow->speech, flow->phase == ANSWER,
				      head))
			return;
	}
	pass_on(sk, flow, CLIENT, now);
}

SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(on_send, struct sock *sk, const struct msghdr *message)
{
	sends(sk, message);
	return 0;
}

/* Takes the place of on_send on kernels without its event, before 6.16. */
SEC("?fentry/tcp_sendmsg_locked")
int BPF_PROG(on_send_call, struct sock *sk, const struct msghdr *message,
	     unsigned long size)
{
	if (size)
		sends(sk, message);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_sent, struct sock *sk, int length)
{
	struct flow *flow = length > 0 ? flow_of(sk) : 0;

	if (!flow)
		return 0;
	flow->out += length;
	if (flow->role == SERVER && flow->phase == ANSWER)
		flow->last = bpf_ktime_get_ns();
	return 0;
}

/*
 * Handles data that arrived without an event: before the connection was
 * established, or after its end was sent.  The first data came with the
 * connection, and other data at an unknown time.
 */
static __always_inline void arrive_unseen(struct sock *sk, struct flow *flow,
					  u64 now)
{
	bool asks = flow->role == SERVER && flow->phase != REQUEST;
	u64 established = flow->phase == IDLE ? flow->first : 0;

	pass_on(sk, flow, SERVER, asks && established ? established : now);
	if (asks && !established)
		flow->read = SOME_TIME;
}

/* A call has read from a socket. */
SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_read, struct sock *sk, int length, int flags)
{
	struct flow *flow = length > 0 && !(flags & PEEK) ? flow_of(sk) : 0;
	struct tcp_sock *tcp = flow ? tcp_of(sk) : 0;
	u64 now;

	if (!tcp || !flow)
		return 0;
	know(tcp, flow);
	read_until(sk, tcp, flow, length);
	now = bpf_ktime_get_ns();
	if ((s32)(flow->copied - flow->arrived) > 0 &&
	    !(sk->sk_shutdown & SHUT_IN && flow->copied == tcp->rcv_nxt &&
	      flow->copied - flow->arrived == 1)) {
		flow->arrived = flow->copied;
		arrive_unseen(sk, flow, now);
	}
	if (flow->role == CLIENT && flow->phase == ANSWER)
		flow->last = now;
	else if (flow->role == SERVER && flow->phase == REQUEST &&
		 !flow->read)
		flow->read = now;
	return 0;
}

static __always_inline void own(struct sock *sk, u32 server, enum role role)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0,
					       STORAGE_CREATE);

	if (!flow)
		return;
	flow->server = server;
	flow->role = role;
	flow->phase = IDLE;
	flow->speech = UNREAD;
	flow->known = 0;
}

/*
 * Counts a connection of MPTCP as one unclear exchange: its data passes other
 * functions of the kernel than the data of TCP.
 */
static __always_inline void refuse(struct sock *sk, struct flow *flow)
{
	struct exchange exchange = { .whole = 1, .unclear = 1 };
	struct edge_key key;

	flow->speech = UNCLEAR;
	key_of(sk, flow, &key);
	count(&key, &exchange, bpf_ktime_get_ns());
}

/* A connection is established. */
static __always_inline void establish(struct sock *sk, struct tcp_sock *tcp,
				      struct flow *flow)
{
	flow->port = port_of(sk, flow);
	if (!flow->known)
		flow->copied = flow->arrived = tcp->copied_seq;
	flow->known = 1;
	/* The time at which a request came that had waited for the connection. */
	if (flow->phase == IDLE)
		flow->first = bpf_ktime_get_ns();
	if (bpf_core_field_exists(tcp->is_mptcp) && tcp->is_mptcp)
		refuse(sk, flow);
}

/* Gives a new connection to the server that listens with MPTCP at its port. */
static __always_inline struct flow *from_hidden(struct sock *sk)
{
	struct place place;
	u32 *server;

	place_of(sk, &place);
	server = bpf_map_lookup_elem(&hidden, &place);
	if (!server)
		return 0;
	own(sk, *server, SERVER);
	return flow_of(sk);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int before, int after)
{
	struct tcp_sock *tcp;
	struct place place;
	struct flow *flow;
	u32 server;

	if (sk->sk_protocol != TCP)
		return 0;
	if (before == LISTEN && after == CLOSED) {
		place_of(sk, &place);
		bpf_map_delete_elem(&hidden, &place);
	}
	if (after == LISTEN || after == SYN_SENT) {
		/* The current task is the one that owns the socket. */
		server = lane_of(bpf_get_current_task_btf()).server;
		if (server != HOST)
			own(sk, server, after == LISTEN ? SERVER : CLIENT);
		return 0;
	}
	flow = after == CLOSED || after == ESTABLISHED ? flow_of(sk) : 0;
	if (!flow && before == SYN_RECEIVED && after == ESTABLISHED)
		flow = from_hidden(sk);
	tcp = flow ? bpf_skc_to_tcp_sock(sk) : 0;
	if (!tcp || !flow)
		return 0;
	if (after == ESTABLISHED) {
		establish(sk, tcp, flow);
	} else if (tcp->rcv_nxt - tcp->copied_seq <= 1) {
		/* More than the end of the data may still be read. */
		read_until(sk, tcp, flow, 0);
		finish(sk, flow, bpf_ktime_get_ns());
		flow->phase = IDLE;
	}
	return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(on_end, struct sock *sk)
{
	struct flow *flow = flow_of(sk);

	if (flow && flow->role != UNKNOWN) {
		finish(sk, flow, bpf_ktime_get_ns());
		flow->phase = IDLE;
	}
	return 0;
}

/*
 * Handles a connection that is older than the programs.  The first data that
 * passes does not tell the roles, because the data may be an answer.  The
 * listening ports tell the roles, but the first walk does not know all of these
 * ports yet.  The first walk therefore only marks the connection, and the
 * second walk assigns the roles.
 */
static __always_inline void seed_connection(struct sock *sk,
					    struct listener *at)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	bool answers = bpf_map_lookup_elem(&listeners, at) != 0;
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);

	if (!tcp && sk->sk_protocol == TCP)
		return;		/* a raw socket for segments of TCP */
	if (!flow) {
		own(sk, HOST, UNKNOWN);
		return;
	}
	if (flow->server != HOST) {
		if (answers && flow->role != SERVER)
			own(sk, at->server, SERVER);
		return;
	}
	own(sk, at->server, answers ? SERVER : CLIENT);
	flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	if (flow && !tcp) {
		refuse(sk, flow);
	} else if (flow && tcp) {
		flow->copied = tcp->copied_seq;
		flow->arrived = tcp->rcv_nxt;
		flow->known = 1;
	}
	count_late(at->server);
}

/*
 * Finds sockets that are older than the programs, or than the watch of their
 * server.  User space runs this program twice: the first walk finds the
 * listening sockets.
 */
SEC("iter/task_file")
int seed(struct bpf_iter__task_file *context)
{
	struct task_struct *task = context->task;
	struct file *file = context->file;
	struct listener at = {};
	struct socket *socket;
	struct place place;
	struct sock *sk;
	u32 one = 1;

	if (!task || !file)
		return 0;
	at.server = lane_of(task).server;
	if (at.server == HOST)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk || (sk->sk_protocol != TCP && sk->sk_protocol != MPTCP))
		return 0;
	at.port = sk->__sk_common.skc_num;
	if (sk->__sk_common.skc_state == ESTABLISHED) {
		seed_connection(sk, &at);
	} else if (sk->__sk_common.skc_state == LISTEN) {
		bpf_map_update_elem(&listeners, &at, &one, ANY);
		place_of(sk, &place);
		if (sk->sk_protocol == MPTCP)
			bpf_map_update_elem(&hidden, &place, &at.server, ANY);
		else if (!bpf_sk_storage_get(&flows, sk, 0, 0))
			own(sk, at.server, SERVER);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
