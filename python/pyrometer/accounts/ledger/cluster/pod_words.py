"""What executors in pods waited for, in words, and what helps."""

from __future__ import annotations

WAITED = {
    "no_pod": "without a pod",
    "scheduling": "without a node",
    "image_and_container": "for image and container",
}
"""Of each of `awaited.PHASES`; behind a time."""
REMEDIES = {
    "no_pod": "have Spark create more pods at a time (spark.kubernetes.allocation.batch.size), and"
    " look for quotas of the namespace",
    "scheduling": "ask for executors that fit beside what is on the nodes (spark.executor.memory,"
    " spark.kubernetes.executor.request.cores), or have the autoscaler keep nodes ready",
    "image_and_container": "have the image on the nodes beforehand (a DaemonSet that pulls it, and"
    " spark.kubernetes.container.image.pullPolicy=IfNotPresent), or a smaller one",
}
