/* Histograms of latencies in powers of two. */
#pragma once
#include "events.h"

enum latency_kind { LATENCY_BLOCK, LATENCY_QUEUE, LATENCY_READ };

/* Read by parse/events.rs: change both. */
struct latency_key {
	/* Of the block device; 0 of calls. */
	u32 major;
	u32 minor;
	u32 tgid;
	u8 kind;
	u8 operation;
	/* The latency is 2^bucket ns and more. */
	u8 bucket;
	u8 unused;
};

/* Read by parse/events.rs: change both. */
struct latency {
	u64 count;
	u64 sum_ns;
	u64 bytes;
};

struct latencies {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct latency_key);
	__type(value, struct latency);
};
struct latencies latencies0 SEC(".maps");
struct latencies latencies1 SEC(".maps");

/* The largest n with 2^n <= value. */
static __always_inline u8 log2_of(u64 value)
{
	u8 n = 0;
	for (u8 step = 32; step; step >>= 1) {
		if (value >> step) {
			value >>= step;
			n += step;
		}
	}
	return n;
}

static __always_inline void add_to_latency(void *map, struct latency_key *key, u64 ns, u64 bytes)
{
	struct latency *latency = bpf_map_lookup_elem(map, key);
	if (!latency) {
		struct latency none = {};
		bpf_map_update_elem(map, key, &none, BPF_NOEXIST);
		latency = bpf_map_lookup_elem(map, key);
	}
	if (!latency) {
		lose(LOST_LATENCIES);
		return;
	}
	/* One device may complete on several CPUs at once. */
	__sync_fetch_and_add(&latency->count, 1);
	__sync_fetch_and_add(&latency->sum_ns, ns);
	__sync_fetch_and_add(&latency->bytes, bytes);
}

static __always_inline void tell_latency(struct latency_key *key, u64 ns, u64 bytes)
{
	key->bucket = log2_of(ns);
	if (current_side())
		add_to_latency(&latencies1, key, ns, bytes);
	else
		add_to_latency(&latencies0, key, ns, bytes);
}
