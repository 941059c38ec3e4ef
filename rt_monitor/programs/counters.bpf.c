// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the counters of each CPU counted for whom, read at the switch; and
 * how much of the first one, cycles, beside a busy thread of the core.
 */
#include "kernel.h"
#include "lanes.h"

#define CPUS 1024
#define COUNTERS 4
/* What nobody's task counted, after the servers. */
#define IDLE_TASK SERVERS
#define HERE 0xffffffffULL	/* BPF_F_CURRENT_CPU */
/* Of a fraction's parts, so that their product fits. */
#define SHIFT 10

struct work {
	u64 counted[COUNTERS];
	u64 beside;	/* of the first, while the other thread was busy */
};

/* Of a CPU, also for the other thread of its core; times in ns. */
struct busy {
	u64 whole;
	u64 since;	/* 0 while it is idle */
};

/* What runs on this CPU, and what was read when it began to. */
struct begun {
	u64 counted[COUNTERS];
	u64 at;
	u64 sibling;
	u32 server;
	u32 known;
};

#define COUNTER(name)					\
	struct {					\
		__uint(type, MAP_PERF_EVENT_ARRAY);	\
		__uint(max_entries, CPUS);		\
		__type(key, u32);			\
		__type(value, u32);			\
	} name SEC(".maps")

COUNTER(cycles);
COUNTER(instructions);
COUNTER(references);
COUNTER(misses);

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, CPUS);
	__type(key, u32);
	__type(value, u32);	/* a CPU, itself where it has the core alone */
} siblings SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, CPUS);
	__type(key, u32);
	__type(value, struct busy);
} busy SEC(".maps");

struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct begun);
} begun SEC(".maps");

struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, SERVERS + 1);
	__type(key, u32);
	__type(value, struct work);
} work SEC(".maps");

/* How long the other thread of this core was busy until now. */
static __always_inline u64 sibling_busy(u32 cpu, u64 now)
{
	u32 *other = bpf_map_lookup_elem(&siblings, &cpu);
	struct busy *found;
	u64 since;

	if (!other || *other == cpu)
		return 0;
	found = bpf_map_lookup_elem(&busy, other);
	if (!found)
		return 0;
	since = found->since;
	return found->whole + (since && now > since ? now - since : 0);
}

static __always_inline u64 part_of(u64 count, u64 part, u64 whole)
{
	if (part >= whole)
		return whole ? count : 0;
	if (whole >> SHIFT)
		return (count >> SHIFT) * part / (whole >> SHIFT);
	return count * part / whole;
}

/* Once nothing was read, nothing is counted until the next time. */
static __always_inline void count(struct begun *from, int which, void *map,
				  struct work *into)
{
	s64 now = bpf_perf_event_read(map, HERE);

	if (now < 0 && now > -4096)
		return;
	if (into && (u64)now > from->counted[which])
		into->counted[which] += now - from->counted[which];
	from->counted[which] = now;
}

/* Charges what ran until now. */
static __always_inline void charge(struct begun *from, u32 cpu, u64 now)
{
	u64 sibling = sibling_busy(cpu, now), before;
	struct work *into = 0;

	if (from->known)
		into = bpf_map_lookup_elem(&work, &from->server);
	before = into ? into->counted[0] : 0;
	count(from, 0, &cycles, into);
	count(from, 1, &instructions, into);
	count(from, 2, &references, into);
	count(from, 3, &misses, into);
	if (into)
		into->beside += part_of(into->counted[0] - before,
					sibling - from->sibling,
					now - from->at);
	from->at = now;
	from->sibling = sibling;
}

static __always_inline void turn_to(struct begun *here,
				    struct task_struct *task)
{
	here->known = 1;
	here->server = task->pid ? lane_of(task).server : IDLE_TASK;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev,
	     struct task_struct *next)
{
	u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	struct begun *here = bpf_map_lookup_elem(&begun, &zero);
	struct busy *mine = bpf_map_lookup_elem(&busy, &cpu);
	u64 now = bpf_ktime_get_ns();

	if (!here || !mine)
		return 0;
	charge(here, cpu, now);
	turn_to(here, next);
	if (mine->since)
		mine->whole += now - mine->since;
	mine->since = next->pid ? now : 0;
	return 0;
}

/* Charges the task that runs here, and looks again whose it is. */
static __always_inline void charge_current(struct task_struct *current)
{
	u32 zero = 0;
	struct begun *here = bpf_map_lookup_elem(&begun, &zero);

	if (!here)
		return;
	charge(here, bpf_get_smp_processor_id(), bpf_ktime_get_ns());
	turn_to(here, current);
}

/* Is run on each CPU before its counters are read. */
SEC("raw_tp")
int flush(void *context)
{
	charge_current(bpf_get_current_task_btf());
	return 0;
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_attach, struct cgroup *group, const char *path,
	     struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();

	/* It runs on, as one of another server. */
	if (current->pid == task->pid)
		charge_current(current);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
