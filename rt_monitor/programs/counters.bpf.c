// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads the counters of each CPU at each switch and adds them to the server
 * whose task ran.  Of the first counter, cycles, also counts those during which
 * the other thread of the core was busy.
 */
#include "kernel.h"
#include "lanes.h"

#define CPUS 1024
#define COUNTERS 4
/* The index of the idle task, after those of the servers. */
#define IDLE_TASK SERVERS
#define HERE 0xffffffffULL	/* BPF_F_CURRENT_CPU */
/* The shift of the factors of a product that would not fit otherwise. */
#define SHIFT 10

struct work {
	u64 counted[COUNTERS];
	u64 beside;	/* cycles while the other thread was busy */
};

/*
 * The busy time of a CPU, which the other thread of its core reads, too; times
 * are in ns.
 */
struct busy {
	u64 whole;
	u64 since;	/* 0 while it is idle */
};

/* The task that runs on this CPU, and the readings at its start. */
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
	__type(value, u32);	/* the other thread of the core, or the CPU itself */
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

/* Returns how long the other thread of this core was busy until now. */
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

/* After a failed reading, the next reading counts from the last good one. */
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

/* Charges the server whose task ran until now. */
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

/* Charges the task that runs here, and determines its server again. */
static __always_inline void charge_current(struct task_struct *current)
{
	u32 zero = 0;
	struct begun *here = bpf_map_lookup_elem(&begun, &zero);

	if (!here)
		return;
	charge(here, bpf_get_smp_processor_id(), bpf_ktime_get_ns());
	turn_to(here, current);
}

/* User space runs this program on each CPU before it reads the counts. */
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

	/* The task continues to run, but for another server. */
	if (current->pid == task->pid)
		charge_current(current);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
