/* How long requests to block devices take, by device, process and operation. */
#include "latency.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gendisk {
	int major;
	int first_minor;
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
};

/* Before Linux 5.16. */
struct request___old {
	struct gendisk *rq_disk;
};


#pragma clang attribute pop

/* Operations of a request (linux/blk_types.h). */
#define REQ_OP_MASK 0xff

struct underway {
	u64 inserted_ns;
	u64 issued_ns;
	u64 bytes;
	struct latency_key key;
};

/* Requests under way by their address: the kernel uses a fixed number of them again and again. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct underway);
} requests SEC(".maps");

static __always_inline struct gendisk *disk_of(struct request *request)
{
	struct request___old *old = (void *)request;
	if (field_exists(old->rq_disk))
		return old->rq_disk;
	return request->q->disk;
}

static __always_inline void begun(struct request *request, struct underway *underway)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct gendisk *disk = disk_of(request);
	if (disk) {
		underway->key.major = disk->major;
		underway->key.minor = disk->first_minor;
	}
	underway->key.operation = request->cmd_flags & REQ_OP_MASK;
	/* The kernel's own threads write for others: for whom is not known there. */
	underway->key.tgid = current->flags & PF_KTHREAD ? 0 : current->tgid;
}

/* block_rq_insert(struct request *request): it waits in the scheduler of its queue. */
SEC("tp_btf/block_rq_insert")
int inserted(u64 *context)
{
	struct request *request = (void *)context[0];
	u64 address = context[0];
	struct underway underway = {.inserted_ns = bpf_ktime_get_ns()};
	begun(request, &underway);
	if (bpf_map_update_elem(&requests, &address, &underway, BPF_ANY) < 0)
		lose(LOST_REQUESTS);
	return 0;
}

/* block_rq_issue(struct request *request): handed to the device. */
SEC("tp_btf/block_rq_issue")
int issued(u64 *context)
{
	struct request *request = (void *)context[0];
	u64 address = context[0], now = bpf_ktime_get_ns();
	struct underway *known = bpf_map_lookup_elem(&requests, &address);
	/* One that was issued before was merged into another, and its room is used again. */
	if (known && !known->issued_ns) {
		known->issued_ns = now;
		known->bytes = request->__data_len;
		return 0;
	}
	struct underway underway = {
		.inserted_ns = now, .issued_ns = now, .bytes = request->__data_len};
	begun(request, &underway);
	if (bpf_map_update_elem(&requests, &address, &underway, BPF_ANY) < 0)
		lose(LOST_REQUESTS);
	return 0;
}

/* block_rq_complete(struct request *request, blk_status_t error, unsigned int bytes) */
SEC("tp_btf/block_rq_complete")
int completed(u64 *context)
{
	struct request *request = (void *)context[0];
	u64 address = context[0], now = bpf_ktime_get_ns();
	struct underway *underway = bpf_map_lookup_elem(&requests, &address);
	/* A request may be completed part by part: the last part counts. */
	if (!underway || !underway->issued_ns || (u32)context[2] < request->__data_len)
		return 0;
	struct latency_key key = underway->key;
	key.kind = LATENCY_BLOCK;
	tell_latency(&key, now - underway->issued_ns, underway->bytes);
	key.kind = LATENCY_QUEUE;
	tell_latency(&key, now - underway->inserted_ns, underway->bytes);
	bpf_map_delete_elem(&requests, &address);
	return 0;
}
