"""A program of known cost, for the probe to be measured against.

Arguments: CPU seconds of the main thread, of each of two helper threads, of each of ten
short-lived threads, and of a child process. Prints what the kernel charged as JSON:
CPU of the process and of its child (ns), and of each helper thread by its tid.
"""

import json
import resource
import subprocess
import sys
import threading
import time

CHILD = "import sys, time\nwhile time.process_time() < float(sys.argv[1]): pass\ntime.sleep(0.3)"


def burn(seconds: float) -> None:
    start = time.thread_time()
    while time.thread_time() - start < seconds:
        pass


def total_ns(who: int) -> int:
    usage = resource.getrusage(who)
    return int((usage.ru_utime + usage.ru_stime) * 1e9)


def main() -> None:
    main_s, helper_s, short_s, child_s = map(float, sys.argv[1:])
    charged: dict[int, int] = {}
    done = threading.Event()

    def helper() -> None:
        burn(helper_s)
        charged[threading.get_native_id()] = time.thread_time_ns()
        done.wait(30)  # sleeps, so that its last reading is seen

    sys.stdin.readline()
    time.sleep(0.2)
    helpers = [threading.Thread(target=helper) for _ in range(2)]
    for thread in helpers:
        thread.start()
    child = subprocess.Popen([sys.executable, "-S", "-c", CHILD, str(child_s)])
    burn(main_s)
    for _ in range(10):
        short = threading.Thread(target=burn, args=(short_s,))
        short.start()
        short.join()
    child.wait()
    while len(charged) < len(helpers):
        time.sleep(0.01)
    time.sleep(0.3)
    done.set()
    for thread in helpers:
        thread.join()
    print(
        json.dumps(
            {
                "process_ns": total_ns(resource.RUSAGE_SELF),
                "child_ns": total_ns(resource.RUSAGE_CHILDREN),
                "child_pid": child.pid,
                "helpers_ns": charged,
            }
        ),
        flush=True,
    )


if __name__ == "__main__":
    main()
