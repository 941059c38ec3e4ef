// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Each event of some tasks at the scheduler, one after the other: what the
 * sums of the monitor are compared with.  Nothing of this is in the product.
 */
#include "kernel.h"

#define EVENTS (1 << 17)

/* GOES_ON: runs right after another watched task. */
enum kind { WOKEN, PREEMPTED, SLEEPS, RUNS, GOES_ON };

struct event {
	u64 at;		/* ns, on the monotonic clock */
	u32 pid;
	u32 kind;
};

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, EVENTS);
	__type(key, u32);
	__type(value, struct event);
} events SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} count SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, u32);
} watched SEC(".maps");

static __always_inline void note(struct task_struct *task, enum kind kind)
{
	u32 pid = task->pid, zero = 0, at;
	struct event *event;
	u64 *next;

	if (!bpf_map_lookup_elem(&watched, &pid))
		return;
	next = bpf_map_lookup_elem(&count, &zero);
	if (!next)
		return;
	at = __sync_fetch_and_add(next, 1);
	event = bpf_map_lookup_elem(&events, &at);
	if (!event)
		return;		/* the count tells that it is missing */
	event->at = bpf_ktime_get_ns();
	event->pid = pid;
	event->kind = kind;
}

static __always_inline bool is_watched(struct task_struct *task)
{
	u32 pid = task->pid;

	return bpf_map_lookup_elem(&watched, &pid) != 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	note(task, WOKEN);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev,
	     struct task_struct *next)
{
	note(prev, preempt || !prev->__state ? PREEMPTED : SLEEPS);
	note(next, is_watched(prev) && is_watched(next) ? GOES_ON : RUNS);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
