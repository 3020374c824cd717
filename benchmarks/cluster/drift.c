/* CLOCK_MONOTONIC that gains on the machine's: LD_PRELOAD for JVMs, which ask libc for it.
 * PLANTED_DRIFT=BASE_NS:HOST=PPM:HOST=PPM: on that host it is base + (time - base) * (1 + ppm / 1e6). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int (*real)(clockid_t, struct timespec *);
static long long base;
static double gain;

__attribute__((constructor)) static void begin(void) {
    char host[80] = ":";
    const char *told = getenv("PLANTED_DRIFT"), *mine;
    real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    if (!told || gethostname(host + 1, sizeof host - 2)) return;
    base = atoll(told);
    mine = strstr(told, strcat(host, "="));
    if (mine) gain = atof(mine + strlen(host)) / 1e6;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed;
    if (!real) begin();
    failed = real(clock, now);
    if (!failed && clock == CLOCK_MONOTONIC && gain != 0) {
        long long ns = now->tv_sec * 1000000000LL + now->tv_nsec;
        ns += (long long)((double)(ns - base) * gain);
        now->tv_sec = ns / 1000000000LL;
        now->tv_nsec = ns % 1000000000LL;
    }
    return failed;
}
