/* Who wakes a thread, from where, and when it may run. */
#include "sched.c"

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

/* It is being woken by whoever runs here. */
static __always_inline void woken(struct thread *thread, u64 now)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	u32 tid = waker->pid;
	thread->waking_ns = now;
	/* Most are woken by the same thread again and again. */
	if (thread->waker_tid == tid && thread->waker_comm[0])
		return;
	thread->waker_tid = tid;
	thread->waker_tgid = waker->tgid;
	bpf_probe_read_kernel(thread->waker_comm, sizeof(thread->waker_comm), waker->comm);
}

/* sched_waking(struct task_struct *task), where the waker runs */
SEC("tp_btf/sched_waking")
int waking(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct thread *thread = watched(task);
	if (!thread)
		return 0;
	woken(thread, bpf_ktime_get_ns());
	thread->waking_state = task->__state;
	thread->interrupt = in_interrupt(bpf_get_current_task_btf(), context);
	return 0;
}

/* It has this moment been put on a run queue: that tells our clock from the scheduler's before a switch
 * of its own does, of which perhaps nobody tells us. */
static __always_inline void queued_now(struct task_struct *task, struct thread *thread, u64 now)
{
	u64 queued = task->sched_info.last_queued;
	if (queued && !thread->ahead_ns)
		thread->ahead_ns = now - queued;
}

/* sched_wakeup(struct task_struct *task), where it becomes runnable */
SEC("tp_btf/sched_wakeup")
int runnable(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct thread *thread = watched(task);
	if (!thread)
		return 0;
	thread->runnable_ns = bpf_ktime_get_ns();
	if (thread->off_ns ? thread->kind != PREEMPTED : !thread->known)
		queued_now(task, thread, thread->runnable_ns);
	/* It had not gone to sleep yet and runs on: that ended no wait. */
	if (thread->known && !thread->off_ns)
		thread->waking_ns = 0;
	return 0;
}

/* sched_wakeup_new(struct task_struct *task), where its maker runs */
SEC("tp_btf/sched_wakeup_new")
int born(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct thread *thread = watched(task);
	if (!thread)
		return 0;
	u64 now = bpf_ktime_get_ns();
	queued_now(task, thread, now);
	woken(thread, now);
	thread->off_ns = now;
	thread->runnable_ns = now;
	thread->kind = OTHER;
	thread->known = 1;
	return 0;
}
