/* Tier T0: what the scheduler, block devices and reading calls tell, event by event. */
#include "wakeups.c"
#include "block.c"
#include "calls.c"

char _license[] SEC("license") = "GPL";
