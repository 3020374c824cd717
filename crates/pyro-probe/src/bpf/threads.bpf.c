/* The threads of one process, as the scheduler knows them: one record a thread. */
#include "kernel.h"

#define FRAMES 64

#define ON_CPU 1
#define WAITS_FOR_CPU 2
#define IO_WAIT 4
#define ENDED 8
/* Registers and stack are those of the last record, and are not sent again: it was not switched since, or
 * it waits again where it waited then. */
#define AS_BEFORE 16
/* And it slept all the time: nothing else changed either, and nothing else is sent. */
#define ASLEEP 32

/* Read by parse/thread_record.rs: change both. */
struct record {
	u32 tid;
	u32 flags;
	/* A record of a thread that is ASLEEP ends here. */
	struct counters counters;
	u64 user_sp;
	u64 user_pc;
	s64 syscall;
	u64 state;
	u64 frames_count;
	u64 frames[FRAMES];
};
#define ASLEEP_BYTES __builtin_offsetof(struct record, counters)
#define HEADER_BYTES __builtin_offsetof(struct record, frames)

/* Too large for the stack of a program. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct record);
} scratch SEC(".maps");

/* What a thread was doing when its stack was sent. */
struct sent {
	u64 start_ns;
	/* Plus one. */
	u64 switches;
	u32 tid;
	u32 state;
	u32 flags;
	s32 syscall;
	u64 user_sp;
	u64 user_pc;
};
#define SENT 32768

/* By the thread's number: numbers of threads that were created one after the other lie side by side, which
 * storage of each thread does not. Its place in the process would not do: the end of one thread moves all
 * behind it. Who finds another's entry there is sent in full. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT);
	__type(key, u32);
	__type(value, struct sent);
} sent_of SEC(".maps");

/* Whether it runs but for us: it was taken off this CPU in the very switch that gave it to the reader.
 * Without this, what runs where the reader runs would never be seen running. */
static __always_inline int preempted_by(struct task_struct *reader, struct task_struct *task)
{
	return low_byte(task, on_rq) && task->thread_info.cpu == reader->thread_info.cpu &&
		   task->sched_info.last_queued == reader->sched_info.last_arrival;
}

static __always_inline u32 flags_of(struct task_struct *reader, struct task_struct *task)
{
	if (task->exit_state)
		return ENDED;
	if (low_byte(task, on_cpu) || preempted_by(reader, task))
		return ON_CPU;
	return waits_for_cpu(task) ? WAITS_FOR_CPU : 0;
}

static __always_inline void take_registers(struct task_struct *task, struct record *record)
{
	struct pt_regs *regs = bpf_task_pt_regs(task);
	if (regs) {
		record->user_sp = user_sp(regs);
		record->user_pc = user_pc(regs);
		record->syscall = syscall_number(regs);
	}
}

/* Whether a thread that sleeps in a call which does nothing but wait does so at the place of its last
 * record: such a call, of the same code, sleeps in the same function of the kernel. Most threads that ran
 * between two passes have gone back there, and unwinding their stacks was a third of a pass. */
static __always_inline bool waits_again(const struct sent *sent, const struct record *record, u32 state)
{
	return state & TASK_INTERRUPTIBLE && sent->state == state && !record->flags && !sent->flags &&
		   sent->syscall == record->syscall && only_waits(record->syscall) &&
		   sent->user_sp == record->user_sp && sent->user_pc == record->user_pc;
}

static __always_inline void take_stack(struct task_struct *task, struct record *record)
{
	long bytes = bpf_get_task_stack(task, record->frames, sizeof(record->frames), 0);
	if (bytes > 0)
		record->frames_count = (u64)bytes / sizeof(u64);
}

SEC("iter/task")
int threads(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	once(task);
	u32 zero = 0;
	struct record *record = bpf_map_lookup_elem(&scratch, &zero);
	if (!task || !record)
		return 0;
	struct task_struct *reader = bpf_get_current_task_btf();
	/* The reader's own namespace: its numbers are those of /proc there. */
	struct pid *reader_pid = reader->thread_pid;
	u64 switches = task->nvcsw + task->nivcsw + 1;
	u32 state = task->__state;
	struct sent *sent = 0;
	record->tid = visible_number(task, reader_pid ? reader_pid->level : 0);
	record->flags = flags_of(reader, task);
	bool waits = !(record->flags & (ON_CPU | ENDED));
	if (waits) {
		u32 place = (u32)task->pid % SENT;
		sent = bpf_map_lookup_elem(&sent_of, &place);
	}
	bool same_thread = sent && sent->tid == record->tid && sent->start_ns == task->start_time;
	bool as_before = same_thread && sent->switches == switches;
	/* TASK_RUNNING here: it is being woken. */
	if (as_before && !record->flags && state != TASK_RUNNING && sent->state == state) {
		record->flags = ASLEEP;
		bpf_seq_write(context->meta->seq, record, ASLEEP_BYTES);
		return 0;
	}

	count(task, record->tid, &record->counters);
	record->state = state;
	record->user_sp = 0;
	record->user_pc = 0;
	record->syscall = -1;
	record->frames_count = 0;
	if (read_bits(task, in_iowait))
		record->flags |= IO_WAIT;
	u32 flags = record->flags;
	if (waits && !as_before) {
		take_registers(task, record);
		as_before = same_thread && waits_again(sent, record, state);
		if (!as_before)
			take_stack(task, record);
	}
	if (as_before)
		record->flags |= AS_BEFORE;
	u64 frames = record->frames_count;
	if (frames > FRAMES)
		frames = FRAMES;
	/* What does not fit is asked for again: then it must not count as sent. */
	if (bpf_seq_write(context->meta->seq, record, HEADER_BYTES + frames * sizeof(u64)) == 0 && sent) {
		sent->start_ns = task->start_time;
		sent->switches = switches;
		sent->tid = record->tid;
		sent->state = state;
		sent->flags = flags;
		if (!as_before) {
			sent->syscall = record->syscall;
			sent->user_sp = record->user_sp;
			sent->user_pc = record->user_pc;
		}
	}
	return 0;
}

char _license[] SEC("license") = "GPL";
