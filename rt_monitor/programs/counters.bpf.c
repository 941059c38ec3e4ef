// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads the counters of each CPU at each switch and adds them to the server
 * whose task ran.  The first counter is cycles: those during which the other
 * thread of the core was busy are also counted separately.
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
	u64 ahead;	/* of the clock of the queue, to the clock of *at* */
	u32 server;
	int pid;
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

/*
 * Returns what a counter has counted since the last reading.  After a failed
 * reading, the next reading counts from the last good one.
 */
static __always_inline u64 count(struct begun *from, int which, void *map)
{
	s64 now = bpf_perf_event_read(map, HERE);
	u64 before = from->counted[which];

	if (now < 0 && now > -4096)
		return 0;
	from->counted[which] = now;
	return (u64)now > before ? now - before : 0;
}

/* Reads the counters, and starts to count again. */
static __always_inline void take(struct begun *from, u32 cpu, u64 now,
				 struct work *taken)
{
	u64 sibling = sibling_busy(cpu, now);

	taken->counted[0] = count(from, 0, &cycles);
	taken->counted[1] = count(from, 1, &instructions);
	taken->counted[2] = count(from, 2, &references);
	taken->counted[3] = count(from, 3, &misses);
	taken->beside = part_of(taken->counted[0], sibling - from->sibling,
				now - from->at);
	from->at = now;
	from->sibling = sibling;
}

static __always_inline void add(u32 server, struct work *taken)
{
	struct work *into = bpf_map_lookup_elem(&work, &server);

	if (!into)
		return;
	for (int which = 0; which < COUNTERS; which++)
		into->counted[which] += taken->counted[which];
	into->beside += taken->beside;
}

/* Moves the part of the work that was done in a part of the whole time. */
static __always_inline void move(struct work *from, struct work *to, u64 part,
				 u64 whole)
{
	for (int which = 0; which < COUNTERS; which++) {
		to->counted[which] = part_of(from->counted[which], part, whole);
		from->counted[which] -= to->counted[which];
	}
	to->beside = part_of(from->beside, part, whole);
	from->beside -= to->beside;
}

static __always_inline u32 server_of(struct task_struct *task)
{
	return task->pid ? lane_of(task).server : IDLE_TASK;
}

/*
 * Returns for how long a task has run, if its switch had no event.  The kernel
 * does not note when an idle task began.
 */
static __always_inline u64 ran_unseen(struct begun *from,
				      struct task_struct *task, u64 now)
{
	u64 arrival = task->sched_info.last_arrival + from->ahead;

	return task->pid && now > arrival ? now - arrival : 0;
}

/*
 * Charges the server whose task ran until now.  If the kernel sent no event for
 * the switch to this task, a part is charged to the server of the task before.
 */
static __always_inline void charge(struct begun *from,
				   struct task_struct *task, u32 cpu, u64 now)
{
	u64 whole = now - from->at;
	struct work taken = {}, unseen = {};

	take(from, cpu, now, &taken);
	if (!from->known)
		return;
	if (from->pid != task->pid) {
		move(&taken, &unseen, ran_unseen(from, task, now), whole);
		add(server_of(task), &unseen);
	}
	add(from->server, &taken);
}

static __always_inline void turn_to(struct begun *here,
				    struct task_struct *task)
{
	here->known = 1;
	here->pid = task->pid;
	here->server = server_of(task);
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
	charge(here, prev, cpu, now);
	turn_to(here, next);
	here->ahead = now - next->se.cfs_rq->rq->clock;
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
	charge(here, current, bpf_get_smp_processor_id(), bpf_ktime_get_ns());
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
