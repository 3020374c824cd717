/* Every interval that a thread of a followed process spends off its CPU, and what ended it. */
#include "events.h"

#define FRAMES 64

enum kind { SLEEPING, DISK, PREEMPTED, OTHER };

#define IO_WAIT 1
#define WAKER_INTERRUPT 2
#define WOKEN 4

/* Intervals at least this long are told one by one. */
const volatile u64 long_ns = 1000000;
/* Intervals shorter than this are told without their stack: to walk it is most of the cost of a switch. */
const volatile u64 stack_from_ns = 100000;

/* Read by parse/events.rs: change both. */
struct interval {
	u32 type;
	u32 flags;
	u64 begin_ns;
	u64 end_ns;
	u64 run_queue_ns;
	u64 stack;
	u32 tgid;
	u32 tid;
	u32 waker_tgid;
	u32 waker_tid;
	u32 kind;
	char waker_comm[16];
	u32 unused;
};

/* Read by parse/events.rs: change both. */
struct ended {
	u32 type;
	u32 tgid;
	struct counters counters;
};

#define INTERVAL 1
#define ENDED 2

/* The reader looks by itself, pass by pass. */
#define BPF_RB_NO_WAKEUP 1

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} told SEC(".maps");

/* Read by parse/events.rs: change both. */
struct sum_key {
	u64 stack;
	u32 tgid;
	u32 tid;
	u32 waker_tid;
	u16 kind;
	u16 flags;
};

/* Read by parse/events.rs: change both. */
struct sum {
	u64 count;
	u64 off_ns;
	u64 run_queue_ns;
	u32 waker_tgid;
	u32 unused;
	char waker_comm[16];
};

struct sums {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct sum_key);
	__type(value, struct sum);
};
struct sums sums0 SEC(".maps");
struct sums sums1 SEC(".maps");

struct stack {
	u64 frames_count;
	u64 frames[FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack);
} stack_scratch SEC(".maps");

/* Stacks by the hash of their frames. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct stack);
} stacks SEC(".maps");

/* The stack of a thread that is off its CPU, as its hash; 0 where there is none. */
static __always_inline u64 stack_of(struct task_struct *task)
{
	u32 zero = 0;
	struct stack *stack = bpf_map_lookup_elem(&stack_scratch, &zero);
	if (!stack)
		return 0;
	long bytes = bpf_get_task_stack(task, stack->frames, sizeof(stack->frames), 0);
	if (bytes <= 0)
		return 0;
	u64 count = (u64)bytes / sizeof(u64), hash = count;
	stack->frames_count = count;
	for (u32 i = 0; i < FRAMES; i++) {
		if (i >= count)
			break;
		/* FNV-1a by words: Fowler, Noll, Vo, "The FNV Non-Cryptographic Hash Algorithm". */
		hash = (hash ^ stack->frames[i]) * 0x100000001b3ull;
		hash ^= hash >> 32;
	}
	hash |= 1;
	if (!bpf_map_lookup_elem(&stacks, &hash) &&
		bpf_map_update_elem(&stacks, &hash, stack, BPF_ANY) < 0) {
		lose(LOST_STACKS);
		return 0;
	}
	return hash;
}

/* Why a thread of this state is off its CPU. A waker on another CPU may have replaced the state of a
 * sleeper already (TASK_WAKING). */
static __always_inline u8 kind_of(u32 state)
{
	if (state == TASK_RUNNING)
		return PREEMPTED;
	if (state & TASK_UNINTERRUPTIBLE)
		return DISK;
	return state & TASK_INTERRUPTIBLE || state == TASK_WAKING ? SLEEPING : OTHER;
}

/* When it became runnable, where nobody told us that it was woken. */
static __always_inline u64 queued_ns(struct task_struct *task, struct thread *thread, u64 begin, u64 now)
{
	u64 queued = task->sched_info.last_queued;
	if (queued && thread->ahead_ns)
		queued += thread->ahead_ns;
	else
		queued = now - (task->sched_info.run_delay - thread->run_delay_ns);
	return begin <= queued && queued <= now ? queued : now;
}

/* The time off its CPU that ends now, or goes on; false if it had none. */
static __always_inline bool measure(struct task_struct *task, struct thread *thread, u64 now,
									struct interval *off)
{
	u64 begin = thread->off_ns;
	u8 kind = thread->kind;
	if (!begin) {
		if (thread->known)
			return false;
		/* Off its CPU since before it was watched: nobody knew why, but who wakes it sees its state. */
		begin = thread->since_ns;
		u32 state = task->__state;
		/* Read by itself: the verifier allows no load from one of two structures. */
		asm volatile("" : "+r"(state));
		if (thread->waking_ns)
			state = thread->waking_state;
		kind = kind_of(state);
	}
	bool slept = kind == SLEEPING || kind == DISK;
	if (slept && thread->kind == SLEEPING && thread->waking_ns &&
		thread->waking_state & TASK_UNINTERRUPTIBLE)
		kind = DISK;
	u64 runnable = begin;
	if (slept)
		runnable = thread->runnable_ns >= begin ? thread->runnable_ns : queued_ns(task, thread, begin, now);
	off->flags = thread->io_wait ? IO_WAIT : 0;
	if (kind != PREEMPTED && thread->waking_ns) {
		off->flags |= WOKEN;
		if (thread->interrupt)
			off->flags |= WAKER_INTERRUPT;
	}
	off->kind = kind;
	off->begin_ns = begin;
	off->end_ns = now > begin ? now : begin;
	off->run_queue_ns = now > runnable ? now - runnable : 0;
	off->stack = 0;
	return true;
}

static __always_inline void tell(struct task_struct *task, struct thread *thread, struct interval *off)
{
	off->type = INTERVAL;
	off->tgid = task->tgid;
	off->tid = task->pid;
	off->waker_tgid = thread->waker_tgid;
	off->waker_tid = thread->waker_tid;
	off->unused = 0;
	__builtin_memcpy(off->waker_comm, thread->waker_comm, sizeof(off->waker_comm));
	if (bpf_ringbuf_output(&told, off, sizeof(*off), BPF_RB_NO_WAKEUP) < 0)
		lose(LOST_INTERVALS);
}

static __always_inline void add(void *sums, struct task_struct *task, struct thread *thread,
								struct interval *off)
{
	struct sum_key key = {
		.stack = off->stack,
		.tgid = task->tgid,
		.tid = task->pid,
		.waker_tid = off->flags & WOKEN ? thread->waker_tid : 0,
		.kind = off->kind,
		.flags = off->flags,
	};
	u64 off_ns = off->end_ns - off->begin_ns;
	struct sum *sum = bpf_map_lookup_elem(sums, &key);
	if (sum) {
		/* One thread is switched in on one CPU at a time. */
		sum->count++;
		sum->off_ns += off_ns;
		sum->run_queue_ns += off->run_queue_ns;
		return;
	}
	struct sum first = {.count = 1, .off_ns = off_ns, .run_queue_ns = off->run_queue_ns};
	if (off->flags & WOKEN) {
		first.waker_tgid = thread->waker_tgid;
		__builtin_memcpy(first.waker_comm, thread->waker_comm, sizeof(first.waker_comm));
	}
	if (bpf_map_update_elem(sums, &key, &first, BPF_ANY) < 0)
		lose(LOST_SUMS);
}

/* `waited`: its stack is that of its wait. */
static __always_inline void switched_in(struct task_struct *task, struct thread *thread, u64 now,
										bool waited)
{
	struct interval off;
	thread->in_ns = now;
	if (!measure(task, thread, now, &off))
		return;
	u64 off_ns = off.end_ns - off.begin_ns;
	if (waited && off_ns >= stack_from_ns)
		off.stack = stack_of(task);
	if (off_ns >= long_ns)
		tell(task, thread, &off);
	else if (current_side())
		add(&sums1, task, thread, &off);
	else
		add(&sums0, task, thread, &off);
	thread->off_ns = 0;
	thread->waking_ns = 0;
	thread->known = 1;
}

/* The last switch of a thread: its counters will not change any more. */
static __always_inline void switched_out_for_ever(struct task_struct *task)
{
	struct ended *ended = bpf_ringbuf_reserve(&told, sizeof(*ended), 0);
	if (!ended)
		return lose(LOST_INTERVALS);
	ended->type = ENDED;
	ended->tgid = task->tgid;
	count(task, task->pid, &ended->counters);
	bpf_ringbuf_submit(ended, BPF_RB_NO_WAKEUP);
}

/* It leaves its CPU, and nobody told us that it came: some kernels keep the events of a thread (an agent
 * of the host) from all tracers, and with them the switch from it to the next. The scheduler knows when
 * that was. What it waited for is not to be had any more. */
static __always_inline void came_unseen(struct task_struct *task, struct thread *thread, u64 now)
{
	u64 came = task->sched_info.last_arrival + thread->ahead_ns;
	if (!thread->ahead_ns)
		return lose(LOST_INTERVALS);
	if (came < thread->off_ns)
		came = thread->off_ns;
	tally(UNSEEN_SWITCHES);
	switched_in(task, thread, came < now ? came : now, false);
}

static __always_inline void switched_out(struct task_struct *task, struct thread *thread,
										 bool preempted, u64 now)
{
	u32 state = task->__state;
	if (thread->off_ns)
		came_unseen(task, thread, now);
	else if (thread->in_ns)
		thread->ahead_ns = thread->in_ns - task->sched_info.last_arrival;
	thread->run_delay_ns = task->sched_info.run_delay;
	if (state & TASK_DEAD)
		return switched_out_for_ever(task);
	thread->off_ns = now;
	thread->known = 1;
	thread->io_wait = read_bits(task, in_iowait) != 0;
	thread->kind = preempted ? PREEMPTED : kind_of(state);
}

/* sched_switch(bool preempt, struct task_struct *prev, struct task_struct *next, …) */
SEC("tp_btf/sched_switch")
int switched(u64 *context)
{
	struct task_struct *before = (void *)context[1], *after = (void *)context[2];
	struct thread *out = watched(before), *in = watched(after);
	u64 now = 0;
	if (out)
		switched_out(before, out, context[0] & 1, now = bpf_ktime_get_ns());
	if (in)
		switched_in(after, in, now ? now : bpf_ktime_get_ns(), true);
	return 0;
}

/* sched_process_fork(struct task_struct *parent, struct task_struct *child): threads and children of
 * a watched thread are watched from their first moment. */
SEC("tp_btf/sched_process_fork")
int forked(u64 *context)
{
	if (watched((void *)context[0]))
		watch((void *)context[1]);
	return 0;
}

/* The threads of a process that is followed from now on. One that they make meanwhile is watched
 * either by the one that made it or, being the last in the list, by us. */
SEC("iter/task")
int follow(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	once(task);
	if (task && !watch(task))
		lose(LOST_THREADS);
	return 0;
}

/* Tells of the threads of a process that are off their CPU how long they have been. What is told is not
 * told again as they go on. */
SEC("iter/task")
int off_now(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	once(task);
	struct thread *thread = task ? watched(task) : 0;
	struct interval off;
	if (!thread || low_byte(task, on_cpu) || task->exit_state || !measure(task, thread, bpf_ktime_get_ns(), &off))
		return 0;
	tell(task, thread, &off);
	thread->off_ns = 0;
	thread->known = 1;
	return 0;
}
