/* Threads that spend a known time in a known way. Argument: a file to write and sync.
 *
 * Prints one JSON object per thread: its name, tid, begin and end (CLOCK_MONOTONIC), the CPU time
 * that the kernel charged it between them, its time on run queues, and how long a hypervisor kept
 * the CPUs from the machine meanwhile. Two threads share a CPU, so each waits for it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WALL_NS 1200000000LL

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start, end;
static int pipe_fds[2];
static const char *path;

static long long now(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Time on run queues so far, as the kernel counted it. */
static long long queued(void)
{
	char text[100] = {0};
	long long run, wait = 0;
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0 || sscanf(text, "%lld %lld", &run, &wait) != 2)
		wait = 0;
	close(fd);
	return wait;
}

/* Time that all CPUs were withheld since boot (proc(5), /proc/stat), in ticks. */
static long long stolen(void)
{
	long long ticks = 0;
	FILE *stat = fopen("/proc/stat", "r");
	if (!stat)
		return 0;
	if (fscanf(stat, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &ticks) != 1)
		ticks = 0;
	fclose(stat);
	return ticks * (1000000000LL / sysconf(_SC_CLK_TCK));
}

/* The clocks of this thread at one moment. */
struct clocks {
	long long mono, cpu, queue;
};

/* Reads the clocks; again where something came between the readings. */
static struct clocks read_clocks(void)
{
	struct clocks at;
	for (int tries = 0; tries < 200; tries++) {
		at.mono = now(CLOCK_MONOTONIC);
		at.cpu = now(CLOCK_THREAD_CPUTIME_ID);
		at.queue = queued();
		if (now(CLOCK_MONOTONIC) - at.mono < 500000)
			break;
	}
	return at;
}

static void burn(long long until)
{
	while (now(CLOCK_MONOTONIC) < until)
		for (volatile int i = 0; i < 10000; i++)
			;
}

static void pin(int cpu)
{
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void sync_file(long long until)
{
	char page[4096];
	memset(page, 'x', sizeof(page));
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	while (now(CLOCK_MONOTONIC) < until)
		if (pwrite(fd, page, sizeof(page), 0) < 0 || fsync(fd) < 0)
			break;
	close(fd);
}

/* Sleeps for moments, one after the other; with `turns`, every second one in another call. */
static void doze(long long until, int turns)
{
	struct timespec time = {0, 25000000};
	for (int i = 0; now(CLOCK_MONOTONIC) < until; i++)
		if (turns && i % 2)
			poll(0, 0, 25);
		else
			nanosleep(&time, 0);
}

/* Waits, not to be interrupted, for a child that sleeps. */
static void wait_for_child(void)
{
	pid_t child = vfork();
	if (child == 0) {
		struct timespec time = {WALL_NS / 1000000000LL, WALL_NS % 1000000000LL};
		syscall(SYS_nanosleep, &time, 0);
		_exit(0);
	}
	waitpid(child, 0, 0);
}

static void *work(void *name_of)
{
	const char *name = name_of;
	char byte;
	pthread_setname_np(pthread_self(), name);
	if (strcmp(name, "queue1") == 0 || strcmp(name, "queue2") == 0)
		pin(0);
	pthread_barrier_wait(&start);
	long long withheld = stolen();
	struct clocks begin = read_clocks();
	if (strcmp(name, "sleep") == 0) {
		struct timespec time = {WALL_NS / 1000000000LL, WALL_NS % 1000000000LL};
		nanosleep(&time, 0);
	} else if (strcmp(name, "pipe") == 0) {
		if (read(pipe_fds[0], &byte, 1) != 1)
			return 0;
	} else if (strcmp(name, "lock") == 0) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	} else if (strcmp(name, "again") == 0 || strcmp(name, "turns") == 0) {
		doze(begin.mono + WALL_NS, strcmp(name, "turns") == 0);
	} else if (strcmp(name, "vfork") == 0) {
		wait_for_child();
	} else if (strcmp(name, "fsync") == 0) {
		sync_file(begin.mono + WALL_NS);
	} else {
		burn(begin.mono + WALL_NS);
	}
	struct clocks done = read_clocks();
	printf("{\"name\": \"%s\", \"tid\": %ld, \"begin_ns\": %lld, \"end_ns\": %lld, \"cpu_ns\": %lld, \"queue_ns\": %lld, \"stolen_ns\": %lld}\n",
		   name, syscall(SYS_gettid), begin.mono, done.mono, done.cpu - begin.cpu,
		   done.queue - begin.queue, stolen() - withheld);
	pthread_barrier_wait(&end);
	return 0;
}

int main(int count, char **arguments)
{
	static const char *names[] = {"burn", "queue1", "queue2", "sleep", "pipe", "lock",
									"again", "turns", "vfork", "fsync"};
	enum { THREADS = sizeof(names) / sizeof(names[0]) };
	pthread_t threads[THREADS];
	if (count != 2) {
		fprintf(stderr, "needs one argument: a file to write\n");
		return 2;
	}
	path = arguments[1];
	struct timespec wall = {WALL_NS / 1000000000LL, WALL_NS % 1000000000LL}, moment = {0, 300000000};
	if (pipe(pipe_fds))
		return 1;
	pthread_barrier_init(&start, 0, THREADS + 1);
	pthread_barrier_init(&end, 0, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, work, (void *)names[i]);
	pthread_mutex_lock(&lock);
	/* Until a line comes: whoever observes is ready then. */
	getchar();
	pthread_barrier_wait(&start);
	nanosleep(&wall, 0);
	pthread_mutex_unlock(&lock);
	if (write(pipe_fds[1], "x", 1) != 1)
		return 1;
	nanosleep(&moment, 0);
	pthread_barrier_wait(&end);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	return 0;
}
