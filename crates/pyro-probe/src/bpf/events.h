/* What the programs of events.bpf.c share: whom they watch, sums that are drained, and what was lost. */
#pragma once
#include "kernel.h"

/* Flags of task_struct.flags and of __state (linux/sched.h). */
#define PF_KTHREAD 0x00200000
#define TASK_DEAD 0x80

#define BPF_ANY 0
#define BPF_NOEXIST 1

/* Processes that are followed, with the time since when. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u64);
} followed SEC(".maps");

/* Read by parse/events.rs: change both. */
enum lost {
	LOST_THREADS,
	LOST_INTERVALS,
	LOST_SUMS,
	LOST_STACKS,
	LOST_REQUESTS,
	LOST_LATENCIES,
	LOST_KINDS,
};

/* What found no room. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOST_KINDS);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

static __always_inline void lose(u32 what)
{
	u64 *count = bpf_map_lookup_elem(&lost, &what);
	if (count)
		++*count;
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

static __always_inline u64 followed_since(u32 tgid)
{
	u64 *since = bpf_map_lookup_elem(&followed, &tgid);
	return since ? *since : 0;
}
