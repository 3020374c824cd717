/* How long calls take that read files, by process and call. */
#include "latency.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode {
	unsigned short i_mode;
};

struct file {
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

#pragma clang attribute pop

#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFBLK 0060000

/* Read by parse/events.rs: change both. */
enum call { READ, PREAD64, READV, PREADV, PREADV2, IO_GETEVENTS, IO_PGETEVENTS, IO_SUBMIT, IO_URING_ENTER, OTHER_CALL };

/* Numbers of calls: asm/unistd_64.h, asm-generic/unistd.h. */
static __always_inline enum call call_of(s64 number)
{
	switch (number) {
#if defined(__TARGET_ARCH_x86)
	case 0: return READ;
	case 17: return PREAD64;
	case 19: return READV;
	case 295: return PREADV;
	case 327: return PREADV2;
	case 208: return IO_GETEVENTS;
	case 209: return IO_SUBMIT;
	case 333: return IO_PGETEVENTS;
#elif defined(__TARGET_ARCH_arm64)
	case 63: return READ;
	case 67: return PREAD64;
	case 65: return READV;
	case 69: return PREADV;
	case 286: return PREADV2;
	case 4: return IO_GETEVENTS;
	case 2: return IO_SUBMIT;
	case 292: return IO_PGETEVENTS;
#endif
	case 426: return IO_URING_ENTER;
	default: return OTHER_CALL;
	}
}

/* Files and block devices, not pipes, sockets or terminals: those wait for somebody. */
static __always_inline bool reads_a_file(struct task_struct *current, u64 fd)
{
	struct files_struct *files = current->files;
	struct fdtable *table = files ? files->fdt : 0;
	struct file *file = 0;
	struct inode *inode = 0;
	u16 mode = 0;
	if (!table || fd >= table->max_fds)
		return false;
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	if (!file || bpf_probe_read_kernel(&inode, sizeof(inode), &file->f_inode) < 0 || !inode)
		return false;
	bpf_probe_read_kernel(&mode, sizeof(mode), &inode->i_mode);
	return (mode & S_IFMT) == S_IFREG || (mode & S_IFMT) == S_IFBLK;
}

/* sys_enter(struct pt_regs *regs, long number) */
SEC("tp_btf/sys_enter")
int entered(u64 *context)
{
	enum call call = call_of((s64)context[1]);
	if (call == OTHER_CALL)
		return 0;
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = watched(current);
	struct pt_regs *regs = (void *)context[0];
	if (thread && (call > PREADV2 || reads_a_file(current, first_argument(regs))))
		thread->call_ns = bpf_ktime_get_ns();
	return 0;
}

/* sys_exit(struct pt_regs *regs, long result) */
SEC("tp_btf/sys_exit")
int left(u64 *context)
{
	struct pt_regs *regs = (void *)context[0];
	enum call call = call_of(syscall_number(regs));
	if (call == OTHER_CALL)
		return 0;
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = watched(current);
	if (!thread || !thread->call_ns)
		return 0;
	u64 ns = bpf_ktime_get_ns() - thread->call_ns;
	s64 result = (s64)context[1];
	struct latency_key key = {.tgid = current->tgid, .kind = LATENCY_READ, .operation = call};
	tell_latency(&key, ns, call <= PREADV2 && result > 0 ? (u64)result : 0);
	thread->call_ns = 0;
	return 0;
}
