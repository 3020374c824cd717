/* What the programs of events.bpf.c share: whom they watch, sums that are drained, and what was lost. */
#pragma once
#include "kernel.h"

/* Flags of task_struct.flags and of __state (linux/sched.h). */
#define PF_KTHREAD 0x00200000
#define TASK_DEAD 0x80

#define BPF_ANY 0
#define BPF_NOEXIST 1

/* Read by parse/events.rs: change both. */
enum lost {
	LOST_THREADS,
	LOST_INTERVALS,
	LOST_SUMS,
	LOST_STACKS,
	LOST_REQUESTS,
	LOST_LATENCIES,
	LOST_KINDS,
	/* Not lost: switches that nobody told us of, known by the scheduler's own account. */
	UNSEEN_SWITCHES = LOST_KINDS,
};

/* How often each of them happened. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOST_KINDS + 1);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

static __always_inline void tally(u32 what)
{
	u64 *count = bpf_map_lookup_elem(&lost, &what);
	if (count)
		++*count;
}

static __always_inline void lose(enum lost what)
{
	tally(what);
}

/* Sums are kept in two maps of a kind. While one is added to, the other is drained: nobody adds to
 * an element that is being taken away. The reader turns this over. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} side SEC(".maps");

static __always_inline u32 current_side(void)
{
	u32 zero = 0;
	u32 *value = bpf_map_lookup_elem(&side, &zero);
	return value ? *value : 0;
}

/* A thread of a followed process. */
struct thread {
	/* When it began to be watched. */
	u64 since_ns;
	/* When it was switched in, and out; out is 0 while it runs. */
	u64 in_ns;
	u64 off_ns;
	u64 waking_ns;
	u64 runnable_ns;
	/* Our clock less the scheduler's; 0: not known yet. */
	s64 ahead_ns;
	/* Its waits for a CPU until it was switched out. */
	u64 run_delay_ns;
	/* When it made the call that it is in. */
	u64 call_ns;
	u32 waker_tgid;
	u32 waker_tid;
	u32 waking_state;
	u8 kind;
	u8 io_wait;
	u8 interrupt;
	/* It was seen coming or going: when off_ns is 0, it runs. */
	u8 known;
	char waker_comm[16];
};

/* It lies with the thread itself: of the other threads of the host one look tells that they are none. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

static __always_inline struct thread *watch(struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (thread && !thread->since_ns)
		thread->since_ns = bpf_ktime_get_ns();
	return thread;
}

/* What is kept of a thread; 0 where its process is not watched. */
static __always_inline struct thread *watched(struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
	if (thread || !bpf_task_storage_get(&threads, task->group_leader, 0, 0))
		return thread;
	/* As it was made, the kernel gave no room: it does not to a program that came upon another one
	 * which asked for some. */
	thread = watch(task);
	if (!thread)
		lose(LOST_THREADS);
	return thread;
}
