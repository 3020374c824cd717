/* What our programs read of the kernel, and how.
 *
 * The structures name only the members that we read. Where a member lies in the kernel that runs
 * is filled in as the program is loaded (CO-RE: preserve_access_index, and the kernel's own type
 * information), so neither kernel headers nor a dump of its types are needed to build this. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
typedef _Bool bool;
#define true 1
#define false 0

#define SEC(name) __attribute__((section(name), used))
#define __always_inline inline __attribute__((always_inline))
/* Members of a map's definition, as loaders read them from the object's type information. */
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
/* The compiler keeps the value that it has read. It may read a member of a program's context twice otherwise,
 * once to look whether it is null and once to use it, which verifiers refuse. */
#define once(value) __asm__ volatile("" : "+r"(value))
#define field_exists(field) __builtin_preserve_field_info(field, 2)

/* Flags of task_struct.__state (linux/sched.h). */
#define TASK_RUNNING 0
#define TASK_INTERRUPTIBLE 1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_WAKING 0x200

enum map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
#define BPF_F_NO_PREALLOC 1
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1

/* Of a small number that was an int and is a byte since Linux 7: both have its bits in their first byte. The
 * loader fits the offset, and would refuse a load of another size. */
#define low_byte(object, field) ({ \
	u64 offset = __builtin_preserve_field_info((object)->field, 0); \
	once(offset); \
	*((const volatile u8 *)(object) + offset); \
})

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pid_namespace;
struct files_struct;

/* Bytes that a thread read and wrote; members by what the kernel was built to count. */
struct task_io_accounting {
	u64 rchar;
	u64 wchar;
	u64 read_bytes;
	u64 write_bytes;
};

/* Complete: elements of an array. */
struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct thread_info {
	u32 cpu;
};

struct sched_entity {
	u64 sum_exec_runtime;
	unsigned char sched_delayed;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	int exit_state;
	void *stack;
	unsigned int flags;
	int on_cpu;
	int on_rq;
	struct sched_entity se;
	struct sched_info sched_info;
	unsigned in_iowait : 1;
	int pid;
	int tgid;
	struct pid *thread_pid;
	struct task_struct *group_leader;
	u64 utime;
	u64 stime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	u64 start_time;
	unsigned long min_flt;
	unsigned long maj_flt;
	struct task_io_accounting ioac;
	struct files_struct *files;
	char comm[16];
};

/* Registers of user code at its last entry into the kernel. */
struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long ip;
	unsigned long sp;
	unsigned long orig_ax;
	unsigned long di;
#elif defined(__TARGET_ARCH_arm64)
	u64 sp;
	u64 pc;
	s32 syscallno;
	u64 orig_x0;
#endif
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#if defined(__TARGET_ARCH_x86)
#define user_sp(regs) ((regs)->sp)
#define user_pc(regs) ((regs)->ip)
#define syscall_number(regs) ((s64)(regs)->orig_ax)
#define first_argument(regs) ((regs)->di)
/* Calls that do nothing but wait (asm/unistd_64.h, unistd.h): poll, select, pause, nanosleep, futex,
 * clock_nanosleep, epoll_wait, pselect6, ppoll, epoll_pwait, epoll_pwait2. */
#define only_waits(number)                                                                                   \
	((number) == 7 || (number) == 23 || (number) == 34 || (number) == 35 || (number) == 202 ||               \
	 (number) == 230 || (number) == 232 || (number) == 270 || (number) == 271 || (number) == 281 ||          \
	 (number) == 441)
/* Size of a thread's kernel stack (asm/page_64_types.h, asm/memory.h). */
#define THREAD_BYTES (16 << 10)
#elif defined(__TARGET_ARCH_arm64)
#define user_sp(regs) ((regs)->sp)
#define user_pc(regs) ((regs)->pc)
#define syscall_number(regs) ((s64)(regs)->syscallno)
#define first_argument(regs) ((regs)->orig_x0)
#define only_waits(number)                                                                                   \
	((number) == 22 || (number) == 72 || (number) == 73 || (number) == 98 || (number) == 101 ||              \
	 (number) == 115 || (number) == 441)
#define THREAD_BYTES (64 << 10)
#else
#error "the registers of this architecture are not known yet"
#endif

/* Helpers of the kernel, by their fixed numbers (linux/bpf.h). */
static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u64 (*bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*bpf_seq_write)(struct seq_file *seq, const void *data, u32 bytes) = (void *)127;
static long (*bpf_ringbuf_output)(void *ring, void *data, u64 bytes, u64 flags) = (void *)130;
static void *(*bpf_ringbuf_reserve)(void *ring, u64 bytes, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static void (*bpf_ringbuf_discard)(void *data, u64 flags) = (void *)133;
static long (*bpf_get_task_stack)(struct task_struct *task, void *buffer, u32 bytes, u64 flags) = (void *)141;
static void *(*bpf_task_storage_get)(void *map, struct task_struct *task, void *value, u64 flags) = (void *)156;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;
static struct pt_regs *(*bpf_task_pt_regs)(struct task_struct *task) = (void *)175;

/* A bit field of a structure of the kernel, wherever it lies there. */
#define read_bits(structure, field)                                                                \
	({                                                                                             \
		u64 bits = 0;                                                                              \
		const void *at = (const void *)(structure) +                                               \
						 __builtin_preserve_field_info((structure)->field, 0);                     \
		/* Each case by its own address: one computed for all would be no structure's any more. */  \
		asm volatile("" : "=r"(at) : "0"(at));                                                     \
		switch (__builtin_preserve_field_info((structure)->field, 1)) {                            \
		case 1: bits = *(const u8 *)at; break;                                                     \
		case 2: bits = *(const u16 *)at; break;                                                    \
		case 4: bits = *(const u32 *)at; break;                                                    \
		case 8: bits = *(const u64 *)at; break;                                                    \
		}                                                                                          \
		bits <<= __builtin_preserve_field_info((structure)->field, 4);                             \
		bits >>= __builtin_preserve_field_info((structure)->field, 5);                             \
		bits;                                                                                      \
	})

/* Waits for a CPU: it is on a run queue, and not only because a sleeper is taken off it late. */
static __always_inline int waits_for_cpu(struct task_struct *task)
{
	if (low_byte(task, on_cpu) || !low_byte(task, on_rq))
		return 0;
	return !(field_exists(task->se.sched_delayed) && task->se.sched_delayed);
}

/* Number of a thread as the namespace of this level sees it; 0 where it is not visible there. */
static __always_inline u32 visible_number(struct task_struct *task, u32 level)
{
	struct pid *pid = task->thread_pid;
	u32 number = 0;
	if (level == 0)
		return task->pid;
	if (!pid || level > pid->level || level > 32)
		return 0;
	bpf_probe_read_kernel(&number, sizeof(number), (const void *)pid->numbers + level * sizeof(struct upid));
	return number;
}

/* What the kernel counted of a thread since its start. Read by parse/counters.rs: change both. */
struct counters {
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
	/* -1: not counted by this kernel. */
	s64 rchar_bytes;
	s64 wchar_bytes;
	s64 read_bytes;
	s64 written_bytes;
	u32 tid;
	u32 cpu;
	char comm[16];
};

#define counted(task, field) (field_exists((task)->field) ? (s64)(task)->field : -1)

static __always_inline void count(struct task_struct *task, u32 tid, struct counters *counters)
{
	counters->t_mono_ns = bpf_ktime_get_ns();
	counters->run_ns = task->se.sum_exec_runtime;
	counters->run_delay_ns = task->sched_info.run_delay;
	counters->timeslices_count = task->sched_info.pcount;
	counters->utime_ns = task->utime;
	counters->stime_ns = task->stime;
	counters->voluntary_count = task->nvcsw;
	counters->involuntary_count = task->nivcsw;
	counters->minor_faults_count = task->min_flt;
	counters->major_faults_count = task->maj_flt;
	counters->start_ns = task->start_time;
	counters->rchar_bytes = counted(task, ioac.rchar);
	counters->wchar_bytes = counted(task, ioac.wchar);
	counters->read_bytes = counted(task, ioac.read_bytes);
	counters->written_bytes = counted(task, ioac.write_bytes);
	counters->tid = tid;
	counters->cpu = task->thread_info.cpu;
	bpf_probe_read_kernel(counters->comm, sizeof(counters->comm), task->comm);
}
