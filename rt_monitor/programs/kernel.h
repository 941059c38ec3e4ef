/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts of the kernel's types that the programs read.  The loader
 * relocates each field to its place in the running kernel (CO-RE).  Only the
 * names matter here, not the order or the completeness of the fields.  Fields
 * of less than 64 bits are unsigned, because the loader fits only unsigned
 * fields to a kernel where they have another size.
 */
#ifndef NOVA_RT_KERNEL_H
#define NOVA_RT_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u64 u64;
typedef __u32 u32;
typedef __s64 s64;
typedef __s32 s32;
typedef __u8 u8;
typedef __u16 u16;
typedef __u8 bool;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* Constants of the kernel's interface to user space, which never change. */
enum {
	MAP_HASH = 1,
	MAP_ARRAY = 2,
	MAP_PERF_EVENT_ARRAY = 4,
	MAP_PERCPU_ARRAY = 6,
	MAP_LRU_HASH = 9,
	MAP_SK_STORAGE = 24,
	MAP_TASK_STORAGE = 29,

	NO_PREALLOC = 1,	/* BPF_F_NO_PREALLOC */
	CLONE = 512,		/* BPF_F_CLONE */
	STORAGE_CREATE = 1,	/* BPF_LOCAL_STORAGE_GET_F_CREATE */
	ANY = 0,		/* BPF_ANY */
	NEW = 1,		/* BPF_NOEXIST */

	AF_INET6 = 10,
	TCP = 6,
	UDP = 17,
	MPTCP = 262,
	PEEK = 2,		/* MSG_PEEK */
	ESTABLISHED = 1,
	SHUT_IN = 1,		/* RCV_SHUTDOWN */
	SYN_SENT = 2,
	SYN_RECEIVED = 3,
	CLOSED = 7,
	LISTEN = 10,

	TASK_DEAD = 0x80,

	/*
	 * Flags of threads that the kernel runs, also in a process: PF_IO_WORKER,
	 * PF_USER_WORKER and PF_KTHREAD.
	 */
	WORKER = 0x10 | 0x4000 | 0x200000,

	SCHED_FIFO = 1,
	SCHED_RR = 2,
	SCHED_DEADLINE = 6,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct css_set {
	struct cgroup_subsys_state *subsys[16];
};

struct timerqueue_node {
	s64 expires;
};

struct hrtimer {
	struct timerqueue_node node;
};

struct rt_bandwidth {
	s64 rt_period;
	u64 rt_runtime;
	struct hrtimer rt_period_timer;
};

struct rt_rq {
	unsigned int rt_throttled;
	u64 rt_time;
	u64 rt_runtime;
};

/*
 * The deadline entity of a task or, with the HCBS patches, of a group on one
 * CPU.
 */
struct sched_dl_entity {
	u64 dl_runtime, dl_deadline, dl_period;
	u64 deadline;
	unsigned int dl_throttled:1;
	unsigned int dl_yielded:1;
};

struct task_group {
	struct task_group *parent;
	struct rt_rq **rt_rq;
	struct rt_bandwidth rt_bandwidth;
	struct sched_dl_entity **dl_se;
};

struct rq {
	u64 clock;
	u64 clock_task;
	unsigned int cpu;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
	u64 sum_exec_runtime;
};

struct sched_info {
	unsigned long pcount;
	u64 run_delay;
	u64 last_arrival;
	u64 last_queued;
};

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	unsigned int policy;
	unsigned int on_cpu, on_rq;
	unsigned int pid;
	struct sched_entity se;
	struct sched_dl_entity dl;
	struct sched_info sched_info;
	struct css_set *cgroups;
	struct task_group *sched_task_group;
};

/* The field that kernels before 5.14 have. */
struct task_struct___before {
	long state;
};

struct bpf_iter__task {
	struct task_struct *task;
};

struct file;

struct bpf_iter__task_file {
	struct task_struct *task;
	struct file *file;
};

struct in6_addr {
	u8 s6_addr[16];
};

struct net;

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	possible_net_t skc_net;
	__be32 skc_daddr;
	__be16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	volatile u8 skc_state;
	struct in6_addr skc_v6_daddr;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	u8 sk_shutdown;
};

struct tcp_sock {
	bool is_mptcp;
	u32 rcv_nxt;
	u32 copied_seq;
	u32 write_seq;
	u32 snd_una;
	u64 bytes_received;
	u32 srtt_us;
};

struct iovec {
	void *iov_base;
};

struct iov_iter {
	u8 iter_type;
	unsigned long iov_offset;
	const struct iovec *__iov;
	void *ubuf;
};

struct msghdr {
	struct iov_iter msg_iter;
};

enum iter_type {
	ITER_UBUF,
	ITER_IOVEC,
};

struct socket {
	struct sock *sk;
};

struct sk_buff {
	u32 len;
	unsigned char *data;
	char cb[48];
};

struct tcp_skb_cb {
	u32 seq, end_seq;
	u8 tcp_flags;
};

#pragma clang attribute pop

/* A view of a packet, whatever parts it is in. */
struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

extern int bpf_dynptr_from_skb(struct sk_buff *skb, u64 flags,
			       struct bpf_dynptr *into) __ksym __weak;

/* Costs nothing, where the kernel has it. */
extern void *bpf_rdonly_cast(const void *from, u32 type) __ksym __weak;

/* The values depend on the configuration of the kernel. */
enum cgroup_subsys_id {
	cpu_cgrp_id,
};

enum bpf_func_id {
	BPF_FUNC_map_lookup_percpu_elem = 195,
};

#endif
