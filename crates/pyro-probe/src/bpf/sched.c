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

struct thread {
	u64 off_ns;
	u64 waking_ns;
	u64 runnable_ns;
	u32 tgid;
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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

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
	u32 cpu;
	u64 end_ns;
	u64 start_ns;
	u64 run_ns;
	u64 run_delay_ns;
	u64 timeslices_count;
	u64 user_ns;
	u64 system_ns;
	u64 minor_faults_count;
	u64 major_faults_count;
	u64 voluntary_count;
	u64 involuntary_count;
	u32 tgid;
	u32 tid;
	char comm[16];
};

#define INTERVAL 1
#define ENDED 2

/* The reader looks by itself, pass by pass. */
#define BPF_RB_NO_WAKEUP 1

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} intervals SEC(".maps");

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

static __always_inline struct thread *thread_of(struct task_struct *task)
{
	u32 tid = task->pid;
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);
	if (thread)
		return thread;
	struct thread made = {.tgid = task->tgid};
	bpf_map_update_elem(&threads, &tid, &made, BPF_NOEXIST);
	thread = bpf_map_lookup_elem(&threads, &tid);
	if (!thread)
		lose(LOST_THREADS);
	return thread;
}

static __always_inline u8 kind_of(u32 state)
{
	if (state & TASK_UNINTERRUPTIBLE)
		return DISK;
	return state & TASK_INTERRUPTIBLE ? SLEEPING : OTHER;
}

static __always_inline void add_to_sum(void *sums, struct sum_key *key, struct thread *thread,
									   u64 off_ns, u64 run_queue_ns)
{
	struct sum *sum = bpf_map_lookup_elem(sums, key);
	if (sum) {
		/* One thread is switched in on one CPU at a time. */
		sum->count++;
		sum->off_ns += off_ns;
		sum->run_queue_ns += run_queue_ns;
		return;
	}
	struct sum first = {.count = 1, .off_ns = off_ns, .run_queue_ns = run_queue_ns};
	if (key->flags & WOKEN) {
		first.waker_tgid = thread->waker_tgid;
		__builtin_memcpy(first.waker_comm, thread->waker_comm, sizeof(first.waker_comm));
	}
	if (bpf_map_update_elem(sums, key, &first, BPF_ANY) < 0)
		lose(LOST_SUMS);
}

static __always_inline void switched_in(struct task_struct *task, u64 since, u64 now)
{
	struct thread *thread = thread_of(task);
	if (!thread)
		return;
	u64 begin = thread->off_ns;
	u8 kind = thread->kind;
	if (!begin) {
		if (thread->known)
			return;
		/* Off its CPU since before it was followed: nobody knew why, but who wakes it sees its state. */
		begin = since;
		kind = thread->waking_ns ? kind_of(thread->waking_state) : PREEMPTED;
	}
	bool slept = kind == SLEEPING || kind == DISK;
	if (slept && thread->kind == SLEEPING && thread->waking_state & TASK_UNINTERRUPTIBLE)
		kind = DISK;
	u64 runnable = begin;
	if (slept)
		runnable = thread->runnable_ns >= begin ? thread->runnable_ns : now;
	u32 flags = thread->io_wait ? IO_WAIT : 0;
	if (kind != PREEMPTED && thread->waking_ns) {
		flags |= WOKEN;
		if (thread->interrupt)
			flags |= WAKER_INTERRUPT;
	}
	u64 off_ns = now > begin ? now - begin : 0;
	u64 run_queue_ns = now > runnable ? now - runnable : 0;
	u64 stack = off_ns >= stack_from_ns ? stack_of(task) : 0;
	if (off_ns >= long_ns) {
		struct interval *told = bpf_ringbuf_reserve(&intervals, sizeof(*told), 0);
		if (told) {
			told->type = INTERVAL;
			told->flags = flags;
			told->begin_ns = begin;
			told->end_ns = now;
			told->run_queue_ns = run_queue_ns;
			told->stack = stack;
			told->tgid = task->tgid;
			told->tid = task->pid;
			told->waker_tgid = thread->waker_tgid;
			told->waker_tid = thread->waker_tid;
			told->kind = kind;
			told->unused = 0;
			__builtin_memcpy(told->waker_comm, thread->waker_comm, sizeof(told->waker_comm));
			bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
		} else {
			lose(LOST_INTERVALS);
		}
	} else {
		struct sum_key key = {
			.stack = stack,
			.tgid = task->tgid,
			.tid = task->pid,
			.waker_tid = flags & WOKEN ? thread->waker_tid : 0,
			.kind = kind,
			.flags = flags,
		};
		if (current_side())
			add_to_sum(&sums1, &key, thread, off_ns, run_queue_ns);
		else
			add_to_sum(&sums0, &key, thread, off_ns, run_queue_ns);
	}
	thread->off_ns = 0;
	thread->waking_ns = 0;
	thread->known = 1;
}

/* The last switch of a thread: its counters will not change any more. */
static __always_inline void switched_out_for_ever(struct task_struct *task, u64 now)
{
	u32 tid = task->pid;
	struct ended *told = bpf_ringbuf_reserve(&intervals, sizeof(*told), 0);
	if (told) {
		told->type = ENDED;
		told->cpu = task->thread_info.cpu;
		told->end_ns = now;
		told->start_ns = task->start_time;
		told->run_ns = task->se.sum_exec_runtime;
		told->run_delay_ns = task->sched_info.run_delay;
		told->timeslices_count = task->sched_info.pcount;
		told->user_ns = task->utime;
		told->system_ns = task->stime;
		told->minor_faults_count = task->min_flt;
		told->major_faults_count = task->maj_flt;
		told->voluntary_count = task->nvcsw;
		told->involuntary_count = task->nivcsw;
		told->tgid = task->tgid;
		told->tid = tid;
		bpf_probe_read_kernel(told->comm, sizeof(told->comm), task->comm);
		bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
	} else {
		lose(LOST_INTERVALS);
	}
	bpf_map_delete_elem(&threads, &tid);
}

static __always_inline void switched_out(struct task_struct *task, bool preempted, u64 now)
{
	u32 state = task->__state;
	if (state & TASK_DEAD)
		return switched_out_for_ever(task, now);
	struct thread *thread = thread_of(task);
	if (!thread)
		return;
	thread->off_ns = now;
	thread->known = 1;
	thread->io_wait = read_bits(task, in_iowait) != 0;
	/* A waker on another CPU may have replaced the state already (TASK_WAKING): it slept all the same. */
	if (preempted || state == TASK_RUNNING)
		thread->kind = PREEMPTED;
	else if (state & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE))
		thread->kind = kind_of(state);
	else
		thread->kind = state == TASK_WAKING ? SLEEPING : OTHER;
}

/* sched_switch(bool preempt, struct task_struct *prev, struct task_struct *next, …) */
SEC("tp_btf/sched_switch")
int switched(u64 *context)
{
	struct task_struct *before = (void *)context[1], *after = (void *)context[2];
	bool out = followed_since(before->tgid) != 0;
	u64 in = followed_since(after->tgid);
	if (!out && !in)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (out)
		switched_out(before, context[0] & 1, now);
	if (in)
		switched_in(after, in, now);
	return 0;
}

/* Whether we run on an interrupt's stack: the arguments of a tracepoint lie on that of whoever calls it. */
static __always_inline bool in_interrupt(struct task_struct *current, u64 *context)
{
	u32 zero = 0;
	struct stack *place = bpf_map_lookup_elem(&stack_scratch, &zero);
	if (!place)
		return false;
	/* A pointer becomes a number only by way of memory. */
	*(volatile u64 *)&place->frames_count = (u64)context;
	u64 here = *(volatile u64 *)&place->frames_count, low = (u64)current->stack;
	if (here < low || here >= low + THREAD_BYTES)
		return true;
	/* One that came upon user code stays on the thread's own stack: no call brought the thread here. */
	if (current->flags & PF_KTHREAD)
		return false;
	struct pt_regs *regs = bpf_task_pt_regs(current);
	return regs && syscall_number(regs) == -1;
}

/* sched_waking(struct task_struct *task), where the waker runs */
SEC("tp_btf/sched_waking")
int waking(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	if (!followed_since(task->tgid))
		return 0;
	struct thread *thread = thread_of(task);
	if (!thread)
		return 0;
	struct task_struct *current = bpf_get_current_task_btf();
	thread->waking_ns = bpf_ktime_get_ns();
	thread->waking_state = task->__state;
	thread->waker_tid = current->pid;
	thread->waker_tgid = current->tgid;
	thread->interrupt = in_interrupt(current, context);
	bpf_probe_read_kernel(thread->waker_comm, sizeof(thread->waker_comm), current->comm);
	return 0;
}

/* sched_wakeup(struct task_struct *task), where it becomes runnable */
SEC("tp_btf/sched_wakeup")
int runnable(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	if (!followed_since(task->tgid))
		return 0;
	struct thread *thread = thread_of(task);
	if (thread)
		thread->runnable_ns = bpf_ktime_get_ns();
	return 0;
}

/* sched_wakeup_new(struct task_struct *task), where its maker runs */
SEC("tp_btf/sched_wakeup_new")
int born(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	if (!followed_since(task->tgid))
		return 0;
	struct thread *thread = thread_of(task);
	if (!thread)
		return 0;
	struct task_struct *maker = bpf_get_current_task_btf();
	thread->off_ns = bpf_ktime_get_ns();
	thread->waking_ns = thread->off_ns;
	thread->runnable_ns = thread->off_ns;
	thread->kind = OTHER;
	thread->known = 1;
	thread->interrupt = 0;
	thread->waker_tid = maker->pid;
	thread->waker_tgid = maker->tgid;
	bpf_probe_read_kernel(thread->waker_comm, sizeof(thread->waker_comm), maker->comm);
	return 0;
}

/* sched_process_fork(struct task_struct *parent, struct task_struct *child): a child of a followed
 * process is followed from its first moment. */
SEC("tp_btf/sched_process_fork")
int forked(u64 *context)
{
	struct task_struct *parent = (void *)context[0], *child = (void *)context[1];
	u32 tgid = child->tgid;
	if (tgid == (u32)parent->tgid || !followed_since(parent->tgid))
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&followed, &tgid, &now, BPF_ANY) < 0)
		lose(LOST_THREADS);
	return 0;
}
