/* The threads of one process, as the scheduler knows them: one record a thread. */
#include "kernel.h"

#define FRAMES 64

#define ON_CPU 1
#define WAITS_FOR_CPU 2
#define IO_WAIT 4
#define ENDED 8
/* Not switched since the last record: registers and stack are those of then, and are not sent again. */
#define AS_BEFORE 16

/* Read by threads.rs: change both. */
struct record {
	u64 t_mono_ns;
	u64 run_ns;
	u64 run_delay_ns;
	u64 timeslices_count;
	u64 utime_ns;
	u64 stime_ns;
	u64 voluntary_count;
	u64 involuntary_count;
	u64 minor_faults_count;
	u64 major_faults_count;
	u64 start_ns;
	u64 user_sp;
	u64 user_pc;
	s64 syscall;
	u32 tid;
	u32 state;
	u32 cpu;
	u32 flags;
	char comm[16];
	u64 frames_count;
	u64 frames[FRAMES];
};
#define HEADER_BYTES (sizeof(struct record) - FRAMES * sizeof(u64))

/* Too large for the stack of a program. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct record);
} scratch SEC(".maps");

/* Switches of a thread when its stack was sent, plus one. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} sent SEC(".maps");

/* Whether it runs but for us: it was taken off this CPU in the very switch that gave it to the reader.
 * Without this, what runs where the reader runs would never be seen running. */
static __always_inline int preempted_by(struct task_struct *reader, struct task_struct *task)
{
	return task->on_rq && task->thread_info.cpu == reader->thread_info.cpu &&
		   task->sched_info.last_queued == reader->sched_info.last_arrival;
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
	record->t_mono_ns = bpf_ktime_get_ns();
	record->flags = task->exit_state ? ENDED : 0;
	if (task->on_cpu || preempted_by(reader, task))
		record->flags |= ON_CPU;
	else if (waits_for_cpu(task))
		record->flags |= WAITS_FOR_CPU;
	if (read_bits(task, in_iowait))
		record->flags |= IO_WAIT;
	record->state = task->__state;
	record->run_ns = task->se.sum_exec_runtime;
	record->run_delay_ns = task->sched_info.run_delay;
	record->timeslices_count = task->sched_info.pcount;
	record->voluntary_count = task->nvcsw;
	record->involuntary_count = task->nivcsw;
	record->utime_ns = task->utime;
	record->stime_ns = task->stime;
	record->minor_faults_count = task->min_flt;
	record->major_faults_count = task->maj_flt;
	record->start_ns = task->start_time;
	record->cpu = task->thread_info.cpu;
	/* The reader's own namespace: its numbers are those of /proc there. */
	struct pid *reader_pid = reader->thread_pid;
	record->tid = visible_number(task, reader_pid ? reader_pid->level : 0);
	bpf_probe_read_kernel(record->comm, sizeof(record->comm), task->comm);
	record->user_sp = 0;
	record->user_pc = 0;
	record->syscall = -1;
	record->frames_count = 0;

	u64 *seen = 0, switches = task->nvcsw + task->nivcsw + 1;
	if (!(record->flags & (ON_CPU | ENDED))) {
		seen = bpf_task_storage_get(&sent, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (seen && *seen == switches) {
			record->flags |= AS_BEFORE;
		} else {
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
	}
	u64 frames = record->frames_count;
	if (frames > FRAMES)
		frames = FRAMES;
	/* What does not fit is asked for again: then it must not count as sent. */
	if (bpf_seq_write(context->meta->seq, record, HEADER_BYTES + frames * sizeof(u64)) == 0 && seen)
		*seen = switches;
	return 0;
}

char _license[] SEC("license") = "GPL";
