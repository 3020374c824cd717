/* The threads of one process, as the scheduler knows them: one record a thread. */
#include "kernel.h"

#define FRAMES 64

#define ON_CPU 1
#define WAITS_FOR_CPU 2
#define IO_WAIT 4
#define ENDED 8
/* Not switched since the last record: registers and stack are those of then, and are not sent again. */
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
};
#define SENT 32768

/* By the thread's place in its process, in which all are visited in turn: entries of neighbours lie side by
 * side, which storage of each thread does not. Who finds another's entry there is sent in full. */
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
	return task->on_rq && task->thread_info.cpu == reader->thread_info.cpu &&
		   task->sched_info.last_queued == reader->sched_info.last_arrival;
}

static __always_inline u32 flags_of(struct task_struct *reader, struct task_struct *task)
{
	if (task->exit_state)
		return ENDED;
	if (task->on_cpu || preempted_by(reader, task))
		return ON_CPU;
	return waits_for_cpu(task) ? WAITS_FOR_CPU : 0;
}

static __always_inline void take_place(struct task_struct *task, struct record *record)
{
	struct pt_regs *regs = bpf_task_pt_regs(task);
	if (regs) {
		record->user_sp = user_sp(regs);
		record->user_pc = user_pc(regs);
		record->syscall = syscall_number(regs);
	}
	long bytes = bpf_get_task_stack(task, record->frames, sizeof(record->frames), 0);
	if (bytes > 0)
		record->frames_count = (u64)bytes / sizeof(u64);
}

SEC("iter/task")
int threads(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
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
		u32 place = ((u32)task->tgid * 40503 + (u32)context->meta->seq_num) % SENT;
		sent = bpf_map_lookup_elem(&sent_of, &place);
	}
	bool as_before = sent && sent->switches == switches && sent->tid == record->tid &&
					 sent->start_ns == task->start_time;
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
	if (as_before)
		record->flags |= AS_BEFORE;
	else if (waits)
		take_place(task, record);
	u64 frames = record->frames_count;
	if (frames > FRAMES)
		frames = FRAMES;
	/* What does not fit is asked for again: then it must not count as sent. */
	if (bpf_seq_write(context->meta->seq, record, HEADER_BYTES + frames * sizeof(u64)) == 0 && sent) {
		sent->start_ns = task->start_time;
		sent->switches = switches;
		sent->tid = record->tid;
		sent->state = state;
	}
	return 0;
}

char _license[] SEC("license") = "GPL";
