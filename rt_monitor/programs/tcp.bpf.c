// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts requests and answers over TCP, from the direction and time of data.
 *
 * A transaction is data in one direction, the request, and then data in the
 * other direction, the answer.  It ends when the next transaction begins or
 * the connection ends.  At the server a transaction begins when the request
 * arrives, even if it is not read yet; at the client, when the request is sent.
 */
#include "kernel.h"
#include "edges.h"

/*
 * The offset of the byte of a TCP header whose upper half is the length of the
 * header in words.
 */
#define DATA_OFFSET 12

/* The state of a socket.  Accepted sockets inherit that of a listening one. */
struct flow {
	u32 server;
	u8 role, phase;
	u16 port;	/* of the service, kept because a closing socket has none */
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

static __always_inline struct flow *flow_of(struct sock *sk)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);

	return flow && flow->server != HOST ? flow : 0;
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

/* Adds the bytes of a connection to its edge, and a finished transaction. */
static __always_inline void finish(struct sock *sk, struct flow *flow)
{
	u32 server = flow->server;
	struct edge_key key;
	struct edge *edge;
	struct parts *of;

	if (!flow->in && !flow->out)
		return;
	key_of(sk, flow, &key);
	edge = edge_of(&key);
	if (!edge)
		return;
	__sync_fetch_and_add(&edge->in, flow->in);
	__sync_fetch_and_add(&edge->out, flow->out);
	flow->in = flow->out = 0;
	if (flow->phase != ANSWER)
		return;
	record(&edge->took, between(flow->begun, flow->last));
	if (flow->role != SERVER)
		return;
	of = bpf_map_lookup_elem(&parts, &server);
	if (!of)
		return;
	record(&of->waiting, between(flow->begun, flow->read));
	record(&of->first, between(flow->begun, flow->first));
}

static __always_inline void begin(struct sock *sk, struct flow *flow)
{
	flow->port = port_of(sk, flow);
	flow->phase = REQUEST;
	flow->begun = bpf_ktime_get_ns();
	flow->read = flow->first = flow->last = 0;
}

/*
 * Handles data in one direction.  If the role of the socket is *asks*, the data
 * belongs to a request, which may begin a new transaction.  Otherwise the data
 * belongs to an answer.
 */
static __always_inline void pass_on(struct sock *sk, struct flow *flow,
				    u8 asks)
{
	if (flow->role == asks) {
		if (flow->phase == ANSWER)
			finish(sk, flow);
		if (flow->phase != REQUEST)
			begin(sk, flow);
	} else if (flow->phase == REQUEST) {
		flow->phase = ANSWER;
		flow->first = flow->last = bpf_ktime_get_ns();
	}
}

/* Returns the bytes after the TCP header, with which the segment begins. */
static __always_inline u32 payload(struct sk_buff *skb)
{
	unsigned char *data = 0;
	u32 whole = 0, header;
	u8 words = 0;

	bpf_core_read(&whole, sizeof(whole), &skb->len);
	bpf_core_read(&data, sizeof(data), &skb->data);
	bpf_probe_read_kernel(&words, sizeof(words), data + DATA_OFFSET);
	header = (words >> 4) * 4;
	return whole > header ? whole - header : 0;
}

/* A segment has arrived, and is neither acknowledged nor read yet. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(on_arrival, struct sock *sk, struct sk_buff *skb)
{
	/* An acknowledgement or a FIN without payload does not count. */
	struct flow *flow = payload(skb) ? flow_of(sk) : 0;

	if (flow)
		pass_on(sk, flow, SERVER);
	return 0;
}

/* A socket is about to send data. */
SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(on_send, struct sock *sk)
{
	struct flow *flow = flow_of(sk);

	if (flow)
		pass_on(sk, flow, CLIENT);
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

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_read, struct sock *sk, int length, int flags)
{
	struct flow *flow = length > 0 && !(flags & PEEK) ? flow_of(sk) : 0;

	if (!flow)
		return 0;
	flow->in += length;
	if (flow->role == CLIENT && flow->phase == ANSWER)
		flow->last = bpf_ktime_get_ns();
	else if (flow->role == SERVER && flow->phase == REQUEST && !flow->read)
		flow->read = bpf_ktime_get_ns();
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
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int before, int after)
{
	struct flow *flow;
	u32 server;

	if (sk->sk_protocol != TCP)
		return 0;
	if (after == LISTEN || after == SYN_SENT) {
		/* The current task is the one that owns the socket. */
		server = lane_of(bpf_get_current_task_btf()).server;
		if (server != HOST)
			own(sk, server, after == LISTEN ? SERVER : CLIENT);
		return 0;
	}
	if (after != CLOSED)
		return 0;
	flow = flow_of(sk);
	if (flow) {
		finish(sk, flow);
		flow->phase = IDLE;
	}
	return 0;
}

/*
 * Handles a connection that is older than the programs.  The first data that
 * passes does not tell its roles, because that may be an answer.  The listening
 * ports tell, but not all of them are known in the first walk.  The first walk
 * therefore only marks the connection, and the second one assigns it.
 */
static __always_inline void seed_connection(struct sock *sk,
					    struct listener *at)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	bool answers = bpf_map_lookup_elem(&listeners, at) != 0;
	struct stats *counted;
	u32 zero = 0;

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
	counted = bpf_map_lookup_elem(&stats, &zero);
	if (counted)
		__sync_fetch_and_add(&counted->late, 1);
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
	if (!sk || sk->sk_protocol != TCP)
		return 0;
	at.port = sk->__sk_common.skc_num;
	if (sk->__sk_common.skc_state == ESTABLISHED) {
		seed_connection(sk, &at);
	} else if (sk->__sk_common.skc_state == LISTEN) {
		bpf_map_update_elem(&listeners, &at, &one, ANY);
		if (!bpf_sk_storage_get(&flows, sk, 0, 0))
			own(sk, at.server, SERVER);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
