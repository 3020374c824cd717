"""What is planted in the job on several executors, and where."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import settings
from benchmarks.faults.seventh.places import DRIVER, LARGEST
from benchmarks.faults.surroundings.hosts import ADDRESS, MASTER

TWO, EIGHT = "local-cluster[2,1,1024]", "local-cluster[2,4,1024]"
CLUSTER = ({"layer": "cluster"},)
HOSTS = {
    "spark.driver.host": ADDRESS, "spark.executor.cores": "1", "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
}  # fmt: skip
SHIFT = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.maxExecutors": "2",
    "spark.executor.cores": "1",
}
LATE = {
    "spark.dynamicAllocation.schedulerBacklogTimeout": "6s",
    "spark.dynamicAllocation.sustainedSchedulerBacklogTimeout": "6s",
}
EAGER = {
    "spark.speculation": "true", "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1", "spark.speculation.efficiency.enabled": "false",
}  # fmt: skip
NO_WAIT = {"spark.locality.wait": "0s"}
CASES = (
    Case("stamps", ("driver.scheduler-saturated",), places=DRIVER, master=EIGHT,
         also=("partitioning.too-many",)),
    Case("stubs", master=EIGHT),
    Case("shift", ("driver.executors-late",), {**SHIFT, **LATE},
         {**SHIFT, "spark.dynamicAllocation.initialExecutors": "2"}, master=TWO,
         places=(*settings("initialExecutors"), *CLUSTER)),
    Case("granary", ("partitioning.locality-wait",), HOSTS, {**HOSTS, **NO_WAIT}, master=MASTER,
         places=settings("locality.wait")),
    Case("barns", (), HOSTS, {**HOSTS, **NO_WAIT}, master=MASTER),
    Case("tram", ("retries.executor-lost",), places=CLUSTER, master=TWO),
    Case("depot", master=TWO),
    Case("ferry", ("retries.fetch-failed",), places=(*LARGEST, {"layer": "stage"}), master=TWO,
         also=("retries.failed-tasks",)),
    Case("relay", ("retries.speculation",), {**HOSTS, **EAGER}, HOSTS, master=MASTER,
         places=settings("speculation")),
    Case("parcel", ("shuffle.fetch-wait",), HOSTS, HOSTS, master=MASTER,
         places=(*LARGEST, {"layer": "stage"}), also=("network.slow", "network.saturated")),
)  # fmt: skip
