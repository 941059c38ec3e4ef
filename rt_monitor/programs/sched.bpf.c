// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sums of CPU time, waiting and budgets of servers, counted in the kernel.
 *
 * All times are by the clock of the run queue of the CPU.
 *
 * A lane waits on a CPU while one of its tasks could run there and none does.
 * Each moment of a CPU is therefore part of at most one of three times of a
 * lane: it runs, it waits without budget, or it waits with budget.  A task that
 * waits for another task of its own lane does not add to these times.
 */
#include "kernel.h"
#include "histogram.h"
#include "lanes.h"

/* The most periods that are counted while a task runs without a break. */
#define PERIODS 64
/* The number of groups that are searched for a budget, from a task upwards. */
#define PARENTS 4
#define NO_LIMIT (~0ULL)

/* The counts of a lane on one CPU; all times are in ns. */
struct counts {
	u64 ran;
	u64 switches;
	u64 preempted;
	u64 exhausted;
	/*
	 * The time in which a task could have run, none did, and the lane had
	 * no budget, or had budget.
	 */
	u64 starved, lost;
	u64 first, last;	/* when seen, by the clock of the queue */
	u64 stopped;	/* when a task last stopped and none went on */
	u64 settled;	/* the end of the time that is counted above */
	u64 waited;	/* the part of the present wait that is counted above */
	u64 from, until;	/* the last time without budget of the group */
	/* The present period, as the time of its end, and the time used in it. */
	u64 period, used;
};

/* Sums of the kernel's own counters of tasks, including ended tasks. */
struct totals {
	u64 ran;
	u64 waited;
};

/* The task that runs on this CPU. */
struct cpu {
	u64 since;
	struct lane lane;
	int pid;
	u32 known;
	u64 unseen;	/* switches for which the kernel sent no event */
	u64 budgets;	/* whether the budgets of groups can be seen */
};

/* What a task has added to the totals, and the state of its own budget. */
struct task {
	struct totals seen;
	struct lane lane;
	u64 from, until;	/* when its budget ran out and is refilled */
	u64 period, used;
};

struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, LANES);
	__type(key, u32);
	__type(value, struct counts);
} counts SEC(".maps");

struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, LANES);
	__type(key, u32);
	__type(value, struct totals);
} totals SEC(".maps");

/* The waits of servers; those of the host's own tasks are not recorded. */
struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, SERVERS);
	__type(key, u32);
	__type(value, struct histogram);
} waits SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, SERVERS);
	__type(key, u32);
	__type(value, struct histogram);
} uses SEC(".maps");

struct {
	__uint(type, MAP_TASK_STORAGE);
	__uint(map_flags, NO_PREALLOC);
	__type(key, int);
	__type(value, struct task);
} tasks SEC(".maps");

static __always_inline struct counts *counts_of(u32 lane)
{
	return bpf_map_lookup_elem(&counts, &lane);
}

static __always_inline struct rt_rq *queue_of(struct task_group *group,
					      u32 cpu)
{
	struct rt_rq **queues = group->rt_rq, *found = 0;

	bpf_probe_read_kernel(&found, sizeof(found), &queues[cpu]);
	return found;
}

/* Whether a group has a deadline server on each CPU (HCBS). */
static __always_inline bool has_servers(void)
{
	return bpf_core_field_exists(struct task_group, dl_se);
}

/* Whether a timer refills the budget of a group (RT_GROUP_SCHED). */
static __always_inline bool has_timers(void)
{
	return bpf_core_field_exists(struct task_group, rt_rq) &&
	       bpf_core_field_exists(struct task_group, rt_bandwidth
				     .rt_period_timer.node.expires);
}

/* The deadline server in which a SCHED_FIFO or SCHED_RR task runs here. */
static __always_inline struct sched_dl_entity *
server_of(struct task_struct *task, u32 cpu)
{
	struct task_group *group = task->sched_task_group;
	struct sched_dl_entity **servers, *found;
	u64 runtime;

	for (int depth = 0; depth < PARENTS; depth++) {
		if (!group || !group->parent)
			return 0;
		servers = group->dl_se;
		found = 0;
		bpf_probe_read_kernel(&found, sizeof(found), &servers[cpu]);
		runtime = 0;
		bpf_core_read(&runtime, sizeof(runtime), &found->dl_runtime);
		if (runtime)
			return found;
		group = group->parent;
	}
	return 0;
}

/* The group whose budget a SCHED_FIFO or SCHED_RR task runs in. */
static __always_inline bool budget_of(struct task_struct *task, u32 cpu,
				      s64 *end, s64 *period, struct rt_rq **of)
{
	struct task_group *group = task->sched_task_group;
	u64 runtime;

	for (int depth = 0; depth < PARENTS; depth++) {
		if (!group || !group->parent)
			return 0;
		runtime = group->rt_bandwidth.rt_runtime;
		if (runtime && runtime != NO_LIMIT) {
			*end = group->rt_bandwidth.rt_period_timer
				.node.expires;
			*period = group->rt_bandwidth.rt_period;
			*of = queue_of(group, cpu);
			return *period > 0;
		}
		group = group->parent;
	}
	return 0;
}

/*
 * Counts how long a lane has waited since some time, as far as that is not
 * counted yet; the lane has no budget between two times.  Returns the part of
 * the whole wait that had budget.
 */
static __always_inline u64 wait_until(struct counts *of, u64 since, u64 now,
				      u64 from, u64 until)
{
	u64 settled = of->settled, without = 0;

	if (since < of->stopped)
		since = of->stopped;
	if (since < settled)
		since = settled;
	/* Another CPU may count the same time at the same moment. */
	if (now <= since || __sync_val_compare_and_swap(
			&of->settled, settled, now) != settled)
		return of->waited;
	if (from < since)
		from = since;
	if (until > now)
		until = now;
	if (until > from)
		without = until - from;
	__sync_fetch_and_add(&of->starved, without);
	__sync_fetch_and_add(&of->lost, now - since - without);
	of->waited += now - since - without;
	return of->waited;
}

static __always_inline void use(struct counts *of, u32 server, s64 end,
				s64 period, u64 ran, u64 now)
{
	struct histogram *into;
	u64 early;

	if (of->period == end) {
		of->used += ran;
		return;
	}
	into = bpf_map_lookup_elem(&uses, &server);
	if (of->period) {
		/* The time before the end of the previous period is used there. */
		early = of->period > now - ran ? of->period - (now - ran) : 0;
		if (early > ran)
			early = ran;
		record(into, of->used + early);
		ran -= early;
		for (int i = 0; i < PERIODS && ran > (u64)period; i++) {
			record(into, period);
			ran -= period;
		}
	}
	of->period = end;
	of->used = ran;
}

static __always_inline void leave_fixed(struct task_struct *task,
					struct counts *of, u32 server,
					bool leaves, u64 ran)
{
	u64 now = bpf_ktime_get_ns(), runtime = 0, left = 0;
	u32 cpu = bpf_get_smp_processor_id();
	struct rt_rq *queue = 0;
	s64 end, period;
	int throttled = 0;

	if (!budget_of(task, cpu, &end, &period, &queue))
		return;
	use(of, server, end, period, ran, now);
	if (!leaves || !queue)
		return;
	bpf_core_read(&throttled, sizeof(throttled), &queue->rt_throttled);
	if (!throttled)
		return;
	bpf_core_read(&left, sizeof(left), &queue->rt_time);
	bpf_core_read(&runtime, sizeof(runtime), &queue->rt_runtime);
	of->exhausted++;
	of->from = task->se.cfs_rq->rq->clock;
	/*
	 * Each period subtracts one runtime.  The group runs again when less
	 * than one runtime is left.  The timer uses the monotonic clock.
	 */
	of->until = of->from + end - now +
		    (runtime && left > runtime ?
		     (left / runtime - 1) * period : 0);
}

static __always_inline void leave_served(struct task_struct *task,
					 struct counts *of, u32 server,
					 bool runnable, u64 ran)
{
	struct sched_dl_entity *by = server_of(task,
					       bpf_get_smp_processor_id());
	u64 deadline = 0, relative = 0, period = 0;

	if (!by)
		return;
	bpf_core_read(&deadline, sizeof(deadline), &by->deadline);
	if (of->period != deadline) {
		if (of->period)
			record(bpf_map_lookup_elem(&uses, &server), of->used);
		of->period = deadline;
		of->used = 0;
	}
	of->used += ran;
	if (!runnable || !BPF_CORE_READ_BITFIELD_PROBED(by, dl_throttled))
		return;
	bpf_core_read(&relative, sizeof(relative), &by->dl_deadline);
	bpf_core_read(&period, sizeof(period), &by->dl_period);
	of->exhausted++;
	of->from = task->se.cfs_rq->rq->clock;
	of->until = deadline - relative + period;
}

static __always_inline void leave_deadline(struct task_struct *task,
					   struct counts *of, u32 server,
					   bool runnable, u64 ran)
{
	struct task *state = bpf_task_storage_get(&tasks, task, 0,
						  STORAGE_CREATE);
	u64 deadline = task->dl.deadline;

	if (!state)
		return;
	if (state->period != deadline) {
		if (state->period)
			record(bpf_map_lookup_elem(&uses, &server),
			       state->used);
		state->period = deadline;
		state->used = 0;
	}
	state->used += ran;
	if (runnable && BPF_CORE_READ_BITFIELD(task, dl.dl_throttled) &&
	    !BPF_CORE_READ_BITFIELD(task, dl.dl_yielded)) {
		of->exhausted++;
		state->from = task->se.cfs_rq->rq->clock;
		state->until = deadline - task->dl.dl_deadline +
			       task->dl.dl_period;
	}
}

/* leaves: the task stops running; runnable: the task could go on. */
static __always_inline void use_budget(struct task_struct *task,
				       struct counts *of, u32 server,
				       bool leaves, bool runnable, u64 ran)
{
	if (task->policy == SCHED_DEADLINE)
		leave_deadline(task, of, server, runnable, ran);
	else if (task->policy != SCHED_FIFO && task->policy != SCHED_RR)
		return;
	else if (has_servers())
		leave_served(task, of, server, runnable, ran);
	else if (has_timers())
		leave_fixed(task, of, server, leaves, ran);
}

/*
 * Counts the wait of a lane until now, from the time at which one of its tasks
 * was queued.  The task now runs again, or still waits.
 */
static __always_inline u64 wait_of(struct task_struct *task,
				   struct counts *of, u64 queued, u64 now)
{
	struct task *state;

	if (task->policy != SCHED_DEADLINE)
		return wait_until(of, queued, now, of->from, of->until);
	/* For the kernel, a task without budget is not queued. */
	state = bpf_task_storage_get(&tasks, task, 0, 0);
	if (!state || !state->from)
		return wait_until(of, queued, now, 0, 0);
	return wait_until(of, state->from, now, state->from, state->until);
}

static __always_inline void enter(struct task_struct *next, struct lane lane,
				  u64 clock, bool goes_on)
{
	u64 queued = next->sched_info.last_queued, waited;
	struct counts *of = counts_of(lane.lane);
	struct task *state;

	if (!of)
		return;
	of->switches++;
	if (lane.server == HOST)
		return;
	if (!of->first)
		of->first = clock;
	of->last = clock;
	if (!goes_on && queued) {
		waited = wait_of(next, of, queued, clock);
		record(bpf_map_lookup_elem(&waits, &lane.server), waited);
	}
	of->waited = 0;
	if (next->policy != SCHED_DEADLINE)
		return;
	state = bpf_task_storage_get(&tasks, next, 0, 0);
	if (state)
		state->from = 0;
}

static __always_inline void add(u64 *into, u64 *seen, u64 value)
{
	if (value > *seen)
		__sync_fetch_and_add(into, value - *seen);
	*seen = value;
}

/* Adds to the totals of the lane what a task used since the last time. */
static __always_inline void settle(struct task_struct *task,
				   struct task *state)
{
	struct totals *into = bpf_map_lookup_elem(&totals, &state->lane.lane);

	if (!into)
		return;
	add(&into->ran, &state->seen.ran, task->se.sum_exec_runtime);
	add(&into->waited, &state->seen.waited, task->sched_info.run_delay);
}

static __always_inline u64 state_of(struct task_struct *task)
{
	struct task_struct___before *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return old->state;
}

static __always_inline void finish(struct task_struct *task)
{
	struct task *state = bpf_task_storage_get(&tasks, task, 0, 0);

	if (state && state->lane.server != HOST)
		settle(task, state);
}

static __always_inline void leave(struct task_struct *prev, struct lane lane,
				  u64 ran, u64 clock, bool preempt,
				  bool goes_on)
{
	struct counts *of = counts_of(lane.lane);
	u64 state = state_of(prev);
	bool runnable = preempt || !state;

	if (!of)
		return;
	of->ran += ran;
	of->preempted += runnable;
	if (lane.server == HOST)
		return;
	of->last = clock;
	if (!goes_on)
		of->stopped = clock;
	if (state & TASK_DEAD)
		finish(prev);
	use_budget(prev, of, lane.server, 1, runnable, ran);
}

/*
 * Counts the wait of a task whose switch had no event.  The time at which the
 * task was queued is not known, unless its budget had run out.
 */
static __always_inline void arrive_unseen(struct task_struct *task,
					  struct lane lane, u64 arrival)
{
	struct counts *of = lane.server == HOST ? 0 : counts_of(lane.lane);

	if (of && of->from && of->from >= of->stopped)
		wait_of(task, of, of->from, arrival);
}

static __always_inline u64 ran_since(struct cpu *here, struct task_struct *prev,
				     struct rq *rq)
{
	u64 arrival = prev->sched_info.last_arrival;

	if (here->pid == prev->pid && here->known)
		return rq->clock_task > here->since ?
		       rq->clock_task - here->since : 0;
	if (here->known)
		here->unseen++;
	here->lane = lane_of(prev);
	arrive_unseen(prev, here->lane, arrival);
	return arrival && rq->clock > arrival ? rq->clock - arrival : 0;
}

static __always_inline void begin(struct task_struct *task,
				  struct task *state, struct lane lane)
{
	state->lane = lane;
	state->seen.ran = task->se.sum_exec_runtime;
	state->seen.waited = task->sched_info.run_delay;
}

/* The kernel sends no event when it makes a worker of KVM, vhost or io_uring. */
static __always_inline void begin_worker(struct task_struct *task,
					 struct lane lane)
{
	struct task *state;

	if (!(task->flags & WORKER) || lane.server == HOST ||
	    bpf_task_storage_get(&tasks, task, 0, 0))
		return;
	state = bpf_task_storage_get(&tasks, task, 0, STORAGE_CREATE);
	if (state)
		begin(task, state, lane);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev,
	     struct task_struct *next)
{
	struct rq *rq = next->se.cfs_rq->rq;
	u32 zero = 0;
	struct cpu *here = bpf_map_lookup_elem(&cpus, &zero);
	struct lane lane;
	bool goes_on = 0;
	u64 ran;

	if (!here)
		return 0;
	lane = lane_of(next);
	if (prev->pid || !here->known) {
		ran = ran_since(here, prev, rq);
		/* Whether another task of the same lane goes on. */
		goes_on = prev->pid && next->pid &&
			  here->lane.lane == lane.lane;
		if (prev->pid)
			leave(prev, here->lane, ran, rq->clock, preempt,
			      goes_on);
	}
	here->since = rq->clock_task;
	here->pid = next->pid;
	here->known = 1;
	if (!next->pid)
		return 0;
	here->lane = lane;
	begin_worker(next, lane);
	enter(next, lane, rq->clock, goes_on);
	return 0;
}

/* Charges the task that runs here, and determines its lane again. */
static __always_inline void charge(struct task_struct *task)
{
	u32 zero = 0;
	struct cpu *here = bpf_map_lookup_elem(&cpus, &zero);
	struct counts *of;
	struct lane lane;
	struct rq *rq;
	u64 ran;

	if (!here || !here->known || here->pid != task->pid || !task->pid)
		return;
	rq = task->se.cfs_rq->rq;
	ran = ran_since(here, task, rq);
	of = counts_of(here->lane.lane);
	here->since += ran;
	lane = lane_of(task);
	if (of) {
		of->ran += ran;
		if (here->lane.server != HOST)
			use_budget(task, of, here->lane.server, 0, 0, ran);
		if (here->lane.lane != lane.lane)
			of->stopped = rq->clock;
	}
	here->lane = lane;
}

/* User space runs this program on each CPU before it reads the counts. */
SEC("raw_tp")
int flush(void *context)
{
	u32 zero = 0;
	struct cpu *here = bpf_map_lookup_elem(&cpus, &zero);

	if (here)
		here->budgets = has_servers() || has_timers();
	charge(bpf_get_current_task_btf());
	return 0;
}

/*
 * Counts the wait of a lane until now if this task waits for a CPU.  *fresh*:
 * the task was not watched until now, so nothing is counted yet.
 */
static __always_inline void settle_wait(struct task_struct *task,
					struct lane lane, bool fresh)
{
	struct rq *rq = task->se.cfs_rq->rq;
	struct counts *of;
	struct cpu *there;
	u32 zero = 0;

	if (lane.server == HOST || state_of(task) || !task->on_rq ||
	    task->on_cpu || !bpf_core_enum_value_exists(
			enum bpf_func_id, BPF_FUNC_map_lookup_percpu_elem))
		return;
	of = bpf_map_lookup_percpu_elem(&counts, &lane.lane, rq->cpu);
	there = bpf_map_lookup_percpu_elem(&cpus, &zero, rq->cpu);
	if (!of || !there)
		return;
	if (fresh && of->settled < rq->clock)
		of->settled = rq->clock;
	else if (there->known && (!there->pid ||
				  there->lane.lane != lane.lane))
		wait_of(task, of, task->sched_info.last_queued, rq->clock);
}

static __always_inline void look(struct task_struct *task)
{
	struct task *state = bpf_task_storage_get(&tasks, task, 0, 0);
	struct lane lane = lane_of(task);

	if (state && state->lane.server != HOST) {
		settle(task, state);
		state->lane = lane;
		settle_wait(task, lane, 0);
		return;
	}
	if (lane.server == HOST)
		return;
	state = bpf_task_storage_get(&tasks, task, 0, STORAGE_CREATE);
	if (!state)
		return;
	begin(task, state, lane);
	settle_wait(task, lane, 1);
}

/* User space runs this program over all tasks before it reads the totals. */
SEC("iter/task")
int walk(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;

	if (task)
		look(task);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct lane lane = lane_of(child);
	struct task *state;

	if (lane.server == HOST)
		return 0;
	state = bpf_task_storage_get(&tasks, child, 0, STORAGE_CREATE);
	if (state)
		begin(child, state, lane);
	return 0;
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_attach, struct cgroup *group, const char *path,
	     struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();

	look(task);
	/* The task continues to run, but for another server. */
	if (current->pid == task->pid)
		charge(current);
	return 0;
}

/* At this event, the counters of the task have their final values. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	finish(task);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
