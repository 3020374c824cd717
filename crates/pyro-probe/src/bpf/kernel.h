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

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pid_namespace;
struct files_struct;

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
/* Size of a thread's kernel stack (asm/page_64_types.h, asm/memory.h). */
#define THREAD_BYTES (16 << 10)
#elif defined(__TARGET_ARCH_arm64)
#define user_sp(regs) ((regs)->sp)
#define user_pc(regs) ((regs)->pc)
#define syscall_number(regs) ((s64)(regs)->syscallno)
#define first_argument(regs) ((regs)->orig_x0)
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
		u32 bytes = __builtin_preserve_field_info((structure)->field, 1);                          \
		if (bytes <= sizeof(bits))                                                                 \
			bpf_probe_read_kernel(&bits, bytes, at);                                               \
		bits <<= __builtin_preserve_field_info((structure)->field, 4);                             \
		bits >>= __builtin_preserve_field_info((structure)->field, 5);                             \
		bits;                                                                                      \
	})

/* Waits for a CPU: it is on a run queue, and not only because a sleeper is taken off it late. */
static __always_inline int waits_for_cpu(struct task_struct *task)
{
	if (task->on_cpu || !task->on_rq)
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
