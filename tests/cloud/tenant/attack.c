/* SPDX-License-Identifier: Apache-2.0 */

/* What root of a container may try against its neighbours. */

#include "tenant.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define CGROUPS "/sys/fs/cgroup"
#define OWN_MOUNT "/tmp/cgroup"
#define OWN_PROC "/tmp/proc"
#define SCHED_DEADLINE_POLICY 6
#define HIGHEST 99
#define LOOPS 4
#define TIMERS 500
#define TIMER_NS 100000
#define DRIFT_NS 7000000
#define CHUNK 65536
#define CHUNKS 16

/* As the kernel's, which not every C library has. */
struct deadline_attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

static void tried(const char *what, int failed)
{
	printf("%s: %s\n", what, failed ? strerror(errno) : "done");
}

static void write_to(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	tried(path, fd < 0 || write(fd, value, strlen(value)) < 0);
	if (fd >= 0)
		close(fd);
}

static void set_fifo(pid_t pid)
{
	struct sched_param wanted = {.sched_priority = HIGHEST};

	tried("SCHED_FIFO", sched_setscheduler(pid, SCHED_FIFO, &wanted));
}

static void set_deadline(pid_t pid)
{
	struct deadline_attr wanted = {
		.size = sizeof(wanted),
		.policy = SCHED_DEADLINE_POLICY,
		.runtime = 50000000,
		.deadline = 100000000,
		.period = 100000000,
	};

	tried("SCHED_DEADLINE",
	      (int)syscall(SYS_sched_setattr, pid, &wanted, 0));
}

static void set_nice(pid_t pid, int nice_value)
{
	tried("nice", setpriority(PRIO_PROCESS, (id_t)pid, nice_value));
}

static void set_limit(const char *what, __rlimit_resource_t which,
		      rlim_t value)
{
	struct rlimit wanted = {value, value};

	tried(what, setrlimit(which, &wanted));
}

/* Its own group of a controller, as it sees it; or "". */
static void own_group(const char *controller, char *found)
{
	char line[2048], names[256], path[1024];
	FILE *groups = fopen("/proc/self/cgroup", "r");

	*found = '\0';
	while (groups && fgets(line, sizeof(line), groups))
		if (sscanf(line, "%*d:%255[^:]:%1023s", names, path) == 2 &&
		    !strcmp(names, controller))
			snprintf(found, PATH_MAX, CGROUPS "/%s%s", names,
				 path);
	if (groups)
		fclose(groups);
}

static void write_group(const char *group, const char *file,
			const char *value)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	write_to(path, value);
}

static void take_budget(const char *group)
{
	write_group(group, "cpu.rt_runtime_us", "900000");
	write_group(group, "cpu.rt_period_us", "50000");
	write_group(group, "cpu.rt_runtime_us", "40000");
}

static void try_fifo(char **words)
{
	(void)words;
	set_fifo(0);
}

static void try_deadline(char **words)
{
	(void)words;
	set_deadline(0);
}

static void try_budget(char **words)
{
	char group[PATH_MAX];

	(void)words;
	own_group("cpu", group);
	take_budget(group);
	own_group("cpuset", group);
	write_group(group, "cpuset.cpus", "0-1");
}

static void try_group(char **words)
{
	char group[PATH_MAX], below[PATH_MAX + 8], self[16];

	(void)words;
	own_group("cpu", group);
	snprintf(below, sizeof(below), "%s/below", group);
	tried("a group below", mkdir(below, 0755));
	take_budget(below);
	snprintf(self, sizeof(self), "%d", getpid());
	write_group(below, "cgroup.procs", self);
	snprintf(below, sizeof(below), "%s/..", group);
	write_group(below, "cgroup.procs", self);
}

static void try_mount(char **words)
{
	(void)words;
	mkdir(OWN_MOUNT, 0755);
	tried("mount", mount("cgroup", OWN_MOUNT, "cgroup", 0, "cpu"));
	take_budget(OWN_MOUNT "/machine");
	write_to(OWN_MOUNT "/cgroup.procs", "0");
	umount(OWN_MOUNT);
	/* Allowed to whoever has a user namespace; it shows what it is in. */
	if (unshare(CLONE_NEWCGROUP) ||
	    mount("cgroup", OWN_MOUNT, "cgroup", 0, "cpu"))
		return;
	take_budget(OWN_MOUNT);
}

static void try_sysctl(char **words)
{
	(void)words;
	mount("proc", "/proc/sys", NULL, MS_REMOUNT | MS_BIND, NULL);
	write_to("/proc/sys/kernel/sched_rt_runtime_us", "-1");
	write_to("/proc/sys/kernel/sched_rr_timeslice_ms", "10000");
	mkdir(OWN_PROC, 0755);
	mount("proc", OWN_PROC, "proc", 0, NULL);
	write_to(OWN_PROC "/sys/kernel/sched_rt_runtime_us", "-1");
}

/* The words are processes of others, by the ids they have on the host. */
static void try_others(char **words)
{
	struct sched_param ordinary = {0};
	cpu_set_t none;

	CPU_ZERO(&none);
	CPU_SET(0, &none);
	for (; *words; words++) {
		pid_t pid = (pid_t)atoi(*words);

		set_fifo(pid);
		set_deadline(pid);
		set_nice(pid, PRIO_MAX - 1);
		tried("SCHED_OTHER",
		      sched_setscheduler(pid, SCHED_OTHER, &ordinary));
		tried("affinity", sched_setaffinity(pid, sizeof(none), &none));
	}
}

static void try_limits(char **words)
{
	(void)words;
	set_limit("RLIMIT_RTPRIO", RLIMIT_RTPRIO, HIGHEST);
	set_limit("RLIMIT_NICE", RLIMIT_NICE, PRIO_MAX - PRIO_MIN);
	set_nice(0, PRIO_MIN);
	set_fifo(0);
}

/* Closed once all have been made: else the first ones keep it from that. */
static int gate[2];

/* Makes a process that goes on when all have been made; true in it. */
static int in_child(void)
{
	char none;

	if (fork())
		return 0;
	close(gate[1]);
	return read(gate[0], &none, 1) == 0;
}

static _Noreturn void loop(void)
{
	for (;;)
		;
}

/* The tries may have left it anything: its loops are what take. */
static void run_loops(int number)
{
	while (number--)
		if (in_child())
			loop();
}

static void run_four(char **words)
{
	(void)words;
	run_loops(LOOPS);
}

/* The word is their number. */
static void run_forks(char **words)
{
	run_loops(atoi(words[0]));
}

/*
 * Uses a budget late and the next one early: twice the runtime in a row in
 * every second period, at a phase that drifts.  Words: runtime, period in us.
 */
static void run_late(char **words)
{
	int64_t runtime = atoll(words[0]) * NS_PER_US;
	int64_t cycle = 2 * atoll(words[1]) * NS_PER_US + DRIFT_NS;
	int64_t next;

	if (!in_child())
		return;
	next = clock_ns(CLOCK_MONOTONIC);
	for (;;) {
		sleep_until(next += cycle);
		work(2 * runtime);
	}
}

static _Noreturn void write_disk(void)
{
	static char chunk[CHUNK];
	int fd = open("/tmp/noise", O_WRONLY | O_CREAT, 0600);

	for (int64_t n = 0;; n++) {
		if (pwrite(fd, chunk, CHUNK, n % CHUNKS * CHUNK) < 0)
			_exit(1);
		fdatasync(fd);
	}
}

static _Noreturn void flood(void)
{
	static char packet[1024];
	struct sockaddr_in sink = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	for (;;)
		sendto(fd, packet, sizeof(packet), 0,
		       (struct sockaddr *)&sink, sizeof(sink));
}

static void run_io(char **words)
{
	(void)words;
	for (int number = 0; number < LOOPS; number++) {
		if (in_child())
			write_disk();
		if (in_child())
			flood();
	}
}

static void run_timers(char **words)
{
	struct itimerspec often = {
		.it_interval.tv_nsec = TIMER_NS,
		.it_value.tv_nsec = TIMER_NS,
	};
	uint64_t expired;
	int fds[TIMERS];

	(void)words;
	if (!in_child())
		return;
	for (int number = 0; number < TIMERS; number++) {
		fds[number] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		timerfd_settime(fds[number], 0, &often, NULL);
	}
	/* A timer that was not read does not interrupt again. */
	for (int number = 0;; number = (number + 1) % TIMERS)
		if (read(fds[number], &expired, sizeof(expired)) < 0)
			continue;
}

static const struct {
	const char *name;
	void (*try)(char **words);
	void (*run)(char **words);
} attacks[] = {
	{"fifo", try_fifo, run_four},
	{"deadline", try_deadline, run_four},
	{"budget", try_budget, run_four},
	{"group", try_group, run_four},
	{"mount", try_mount, run_four},
	{"sysctl", try_sysctl, run_four},
	{"others", try_others, run_four},
	{"limits", try_limits, run_four},
	{"loops", NULL, run_four},
	{"forks", NULL, run_forks},
	{"late", NULL, run_late},
	{"io", NULL, run_io},
	{"timers", NULL, run_timers},
};

_Noreturn void attack(char **words)
{
	const size_t known = sizeof(attacks) / sizeof(*attacks);

	for (size_t number = 0; number < known; number++) {
		if (strcmp(words[0], attacks[number].name))
			continue;
		if (attacks[number].try)
			attacks[number].try(words + 1);
		fflush(stdout);
		if (pipe(gate))
			exit(1);
		attacks[number].run(words + 1);
		puts("begun");
		fflush(stdout);
		close(gate[1]);
		for (;;)
			pause();
	}
	puts("unknown");
	exit(1);
}
