/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the server of a task by its control group of the cpu controller. */
#ifndef NOVA_RT_LANES_H
#define NOVA_RT_LANES_H

#include "kernel.h"

/* How many groups are searched for a server's group, from a task upwards. */
#define DEPTH 6
#define SERVERS 258
#define LANES 1024
#define GROUPS 4096
/* The number for tasks of the host, which are in no group of a server. */
#define HOST 0

/*
 * A vCPU of a server, or a whole server whose vCPUs have no groups.
 * lane: the index of its own counts; server: the index of the counts of its
 * server.
 */
struct lane {
	u32 lane;
	u32 server;
};

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, GROUPS);
	__type(key, u64);
	__type(value, struct lane);
} groups SEC(".maps");

/*
 * KVM has workers in the group of the vCPU that made them.  They run none of
 * the code of the vCPU, so they belong to the group of the whole server, as the
 * emulator does.
 */
static __always_inline struct lane lane_of(struct task_struct *task)
{
	struct lane outer = { HOST, HOST }, *found;
	struct cgroup_subsys_state *css, *parent;
	u64 id;

	css = task->cgroups->subsys[bpf_core_enum_value(
		enum cgroup_subsys_id, cpu_cgrp_id)];
	for (int depth = 0; depth < DEPTH; depth++) {
		parent = css->parent;
		if (!parent)
			break;
		id = css->cgroup->kn->id;
		found = bpf_map_lookup_elem(&groups, &id);
		if (found && !(task->flags & WORKER))
			return *found;
		if (found)
			outer = *found;
		css = parent;
	}
	return outer;
}

#endif
